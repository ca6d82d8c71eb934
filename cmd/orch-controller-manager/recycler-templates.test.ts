import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { orchDialect } from '#apimachinery/dialect.js';
import { recyclerTemplates } from '#cmd/orch-controller-manager/recycler-templates.js';
import { controllerManagerValues } from '#controllers/options/options.js';

t.test('templates of recycler pods are read and validated', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'templates-'));
  t.teardown(() => rm(folder, { recursive: true }));
  const option = 'pv-recycler-pod-template-filepath-nfs';
  const read = async (text: string) => {
    await writeFile(join(folder, 'pod'), text);
    return recyclerTemplates(controllerManagerValues(orchDialect, { [option]: join(folder, 'pod') }));
  };
  t.same(await recyclerTemplates(controllerManagerValues(orchDialect)), {});
  const pod = 'apiVersion: v1\nkind: Pod\n';
  t.same(await read(`${pod}spec: {containers: [{name: c, image: i}], volumes: [{name: v}]}`), {
    nfs: { metadata: {}, spec: { containers: [{ name: 'c', image: 'i' }], volumes: [{ name: 'v' }] } },
  });
  const rows: [text: string, failure: RegExp][] = [
    ['kind: Job', /^--pv-recycler-pod-template-filepath-nfs: .*pod: holds no v1 Pod$/],
    [pod, /holds no v1 Pod/],
    [`${pod}spec: {volumes: [{name: v}]}`, /does not contain any container/],
    [`${pod}spec: {containers: [], volumes: []}`, /does not contain any volume\(s\)/],
    ['[', /pod: /],
    ['- 1', /pod: must be an object/],
  ];
  for (const [text, failure] of rows) await t.rejects(read(text), failure, text);
  await rm(join(folder, 'pod'));
  const values = controllerManagerValues(orchDialect, { [option]: join(folder, 'pod') });
  await t.rejects(recyclerTemplates(values), /ENOENT/);
});
