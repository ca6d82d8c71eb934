import t from 'tap';
import { sameItems, semanticEqual } from '#apimachinery/equality.js';

t.test('absent fields equal empty lists but not empty objects', (t) => {
  const rows: [unknown, unknown, boolean][] = [
    [1, 1, true],
    [1, '1', false],
    [Number.NaN, Number.NaN, true],
    [undefined, null, true],
    [undefined, [], true],
    [[], null, true],
    [undefined, {}, false],
    [undefined, '', false],
    [undefined, 0, false],
    [[], {}, false],
    [[1, 2], [1, 2], true],
    [[1, 2], [2, 1], false],
    [[1], [1, undefined], false],
    [{ a: 1, b: { c: [] } }, { a: 1, b: { c: [] } }, true],
    [{ a: 1, b: 2 }, { b: 2, a: 1 }, true],
    [{ a: 1, b: [] }, { a: 1 }, true],
    [{ a: 1, b: [] }, { c: null, a: 1 }, true],
    [{ a: 1, b: {} }, { a: 1 }, false],
    [{ a: 1, b: 2 }, { a: 1, c: 2 }, false],
    [{ a: 1 }, { a: 1, b: 2 }, false],
    [{ a: 1, b: undefined }, { b: undefined, a: 1 }, true],
    [{}, { constructor: 'x' }, false],
    [{ constructor: 'x' }, {}, false],
    [{ constructor: undefined }, {}, true],
  ];
  for (const [a, b, same] of rows) {
    t.equal(semanticEqual(a, b), same, `${JSON.stringify(a)} and ${JSON.stringify(b)}`);
    t.equal(semanticEqual(b, a), same, `${JSON.stringify(b)} and ${JSON.stringify(a)}`);
  }
  t.end();
});

t.test('lists with identical items', (t) => {
  const item = {};
  t.ok(sameItems([], []));
  t.ok(sameItems([1, 'a', item], [1, 'a', item]));
  t.notOk(sameItems([1, 2], [2, 1]));
  t.notOk(sameItems([1], [1, 2]));
  t.notOk(sameItems([item], [{}]), 'an equal item is not identical');
  t.end();
});
