import t from 'tap';
import { schemeFor } from '#api/scheme.js';
import { kubernetesDialect, orchDialect } from '#apimachinery/dialect.js';

const scheme = schemeFor(orchDialect);
const types = scheme.typeNames().map((name) => scheme.type(name));

t.test('every type and every field is described', async (t) => {
  t.strictSame(
    types.filter((type) => type.doc === undefined).map((type) => type.name),
    [],
  );
  const silent = types.flatMap((type) =>
    [...type.byName].filter(([, field]) => field.doc === undefined).map(([name]) => `${type.name}.${name}`),
  );
  t.strictSame(silent, []);
});

t.test('descriptions are whole sentences that name no product', async (t) => {
  const texts = types.flatMap((type) => [
    { where: type.name, doc: type.doc ?? '' },
    ...[...type.byName].map(([name, field]) => ({ where: `${type.name}.${name}`, doc: field.doc ?? '' })),
  ]);
  const products = [orchDialect, kubernetesDialect].flatMap(({ name, product, apiDomain }) => [
    name,
    product,
    apiDomain,
  ]);
  const faults = texts.flatMap(({ where, doc }) => {
    const named = products.find((product) => new RegExp(`\\b${product}\\b`, 'i').test(doc));
    return [
      ...(/^[A-Z0-9`].*\.$/s.test(doc) ? [] : [`${where} is no sentence: ${doc}`]),
      ...(named === undefined ? [] : [`${where} names ${named}`]),
      ...(doc.length > 320 ? [`${where} is long: ${doc.length} characters`] : []),
    ];
  });
  t.strictSame(faults, []);
});

t.test('one dialect describes what the other does', async (t) => {
  const other = schemeFor(kubernetesDialect);
  t.strictSame(
    types.filter((type) => other.type(type.name).doc !== type.doc),
    [],
  );
});
