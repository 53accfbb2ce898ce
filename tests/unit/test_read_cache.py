from ironic_traits.inventory.core.read_cache import ReadCache


def test_value_is_read_again_when_it_is_too_old():
    for seconds, expected in ((0, 3), (1000, 1)):
        sources = []
        cache = ReadCache(lambda source, sources=sources: sources.append(source) or len(sources), seconds)
        assert [cache.get('database') for _ in range(3)][-1] == len(sources) == expected
        assert set(sources) == {'database'}


def test_forgotten_value_is_read_again():
    values = iter('ab')
    cache = ReadCache(lambda source: next(values), 1000)
    assert (cache.get(None), cache.get(None)) == ('a', 'a')
    cache.forget()
    assert (cache.get(None), cache.get(None)) == ('b', 'b')
