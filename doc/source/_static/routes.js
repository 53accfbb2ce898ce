// Routes of the API reference are closed at first. Open those that the reader came for.
window.addEventListener("load", () => {
    const routes = [...document.querySelectorAll("details.route")];
    const setOpen = (chosen, open) => chosen.forEach((route) => { route.open = open; });

    const openTarget = () => {
        const target = document.getElementById(location.hash.slice(1));
        const chosen = routes.filter((route) => route.parentElement === target);
        setOpen(chosen, true);
        if (chosen.length) target.scrollIntoView();
    };

    const addButton = () => {
        const button = document.createElement("button");
        button.className = "routes";
        button.textContent = "Show all";
        button.onclick = () => {
            const open = routes.some((route) => !route.open);
            setOpen(routes, open);
            button.textContent = open ? "Hide all" : "Show all";
        };
        document.querySelector("h1").after(button);
    };

    if (routes.length === 1) setOpen(routes, true);
    if (routes.length > 1) addButton();
    window.addEventListener("hashchange", openTarget);
    // Sphinx marks the words of the search that led here, but only some milliseconds after the page is loaded.
    setTimeout(() => {
        setOpen(routes.filter((route) => route.querySelector(".highlighted")), true);
        openTarget();
    }, 100);
});
