import t from 'tap';
import { schemeFor } from '#api/scheme.js';
import { kubernetesDialect } from '#apimachinery/dialect.js';
import { columnText } from '#apiserver/representation/table.js';

const scheme = schemeFor(kubernetesDialect);

t.test('every column of every kind says what it shows', (t) => {
  let count = 0;
  for (const { apiVersion, declaration } of scheme.resources) {
    const type = scheme.kind(apiVersion, declaration.kind)?.type;
    for (const { name, description } of declaration.columns ?? []) {
      count++;
      t.not(description ?? (type && columnText(type, name)), '', `${declaration.resource}: ${name}`);
    }
  }
  t.ok(count > 200);
  t.end();
});

t.test('a field’s own text stands where the column shows the field', (t) => {
  const type = scheme.kind('v1', 'ConfigMap')?.type;
  if (type === undefined) throw new Error('no such kind');
  t.equal(columnText(type, 'Data'), type.byName.get('data')?.doc);
  t.equal(columnText(type, 'Name'), type.byName.get('metadata')?.type?.byName.get('name')?.doc);
  t.equal(columnText(type, 'constructor'), '');
  t.end();
});
