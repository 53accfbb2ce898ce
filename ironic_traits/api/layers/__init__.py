"""The WSGI layers around the routes: what happens to every request before and after its route."""
