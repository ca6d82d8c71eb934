import t from 'tap';
import { schemeFor } from '#api/scheme.js';
import { kubernetesDialect } from '#apimachinery/dialect.js';
import { columnDescription } from '#apiserver/representation/table.js';

const scheme = schemeFor(kubernetesDialect);

t.test('every column of every kind has a description', (t) => {
  let count = 0;
  for (const { apiVersion, declaration } of scheme.resources) {
    const type = scheme.kind(apiVersion, declaration.kind)?.type;
    for (const { name, description } of declaration.columns ?? []) {
      count++;
      t.not(description ?? (type && columnDescription(type, name)), '', `${declaration.resource}: ${name}`);
    }
  }
  t.ok(count > 200);
  t.end();
});

t.test('columns of fields have the field’s description', (t) => {
  const type = scheme.kind('v1', 'ConfigMap')?.type;
  if (type === undefined) throw new Error('no such kind');
  t.equal(columnDescription(type, 'Data'), type.byName.get('data')?.doc);
  t.equal(columnDescription(type, 'Name'), type.byName.get('metadata')?.type?.byName.get('name')?.doc);
  t.equal(columnDescription(type, 'constructor'), '');
  t.end();
});
