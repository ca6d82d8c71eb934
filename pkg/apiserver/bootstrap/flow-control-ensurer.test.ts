import t from 'tap';
import type { FlowSchema } from '#api/flowcontrol/v1beta2/types.gen.js';
import { kubernetesDialect, orchDialect } from '#apimachinery/dialect.js';
import { autoUpdateKey } from '#apiserver/bootstrap/flow-control.js';
import { isFormer, reconciled } from '#apiserver/bootstrap/flow-control-ensurer.js';

const schema = (name: string, level: string, mark?: string, generation = 1): FlowSchema => ({
  metadata: { name, generation, ...(mark === undefined ? {} : { annotations: { [key]: mark } }) },
  spec: { priorityLevelConfiguration: { name: level } },
});
const dialect = kubernetesDialect;
const key = autoUpdateKey(dialect);

t.test('the annotation is the one of 1.24', async (t) => {
  t.equal(key, 'apf.kubernetes.io/autoupdate-spec', 'in the kubernetes dialect');
  t.equal(autoUpdateKey(orchDialect), 'apf.orch.io/autoupdate-spec', 'and in the other');
});

t.test('suggested objects follow the annotation, mandatory ones the release', async (t) => {
  const rows: readonly (readonly [
    existing: FlowSchema,
    level: string | undefined,
    mark: string | undefined,
    why: string,
  ])[] = [
    [schema('s', 'a', 'true'), undefined, undefined, 'it is as it should be'],
    [schema('s', 'b', 'true', 3), 'a', 'true', 'updated'],
    [schema('s', 'b', 'false'), undefined, undefined, 'edited, and marked as such'],
    [schema('s', 'b', undefined, 1), 'a', 'true', 'never edited'],
    [schema('s', 'b', undefined, 2), 'b', 'false', 'edited: only marked'],
    [schema('s', 'b', 'maybe', 2), 'b', 'false', 'a mark that is none'],
    [schema('s', 'a', 'T'), undefined, undefined, 'another word for true'],
    [schema('exempt', 'b', 'false', 5), 'a', 'true', 'mandatory'],
    [schema('catch-all', 'a', 'false', 5), 'a', 'true', 'mandatory, the mark alone'],
  ];
  for (const [existing, level, mark, why] of rows) {
    const next = reconciled(schema(existing.metadata.name ?? '', 'a', 'true'), existing, dialect);
    t.equal(next?.spec.priorityLevelConfiguration.name, level, `${why}: the level`);
    t.equal(next?.metadata.annotations?.[key], mark, `${why}: the mark`);
  }
});

t.test('defaults of earlier releases leave unless they were edited', async (t) => {
  const names = new Set(['s']);
  t.ok(isFormer(schema('old', 'a', 'true'), names, dialect), 'no default any more');
  t.notOk(isFormer(schema('old', 'a', 'false'), names, dialect), 'edited');
  t.notOk(isFormer(schema('old', 'a'), names, dialect), 'of an administrator');
  t.notOk(isFormer(schema('s', 'a', 'true'), names, dialect), 'a default');
});
