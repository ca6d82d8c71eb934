/**
 * Compares hashes with those of 1.24.17 (k8s.io/kubernetes/pkg/util/hash, go-spew 1.1.1) for templates decoded from
 * Protobuf, as its controllers receive them. kube-controller-manager used the first hash to name a ReplicaSet and a
 * DaemonSet's ControllerRevision.
 */
import { readFileSync } from 'node:fs';
import t from 'tap';
import type { PodTemplateSpec } from '#api/core/v1/types.gen.js';
import { schemeFor } from '#api/scheme.js';
import { decodeJSON } from '#apimachinery/codec/json/json.js';
import { kubernetesDialect as dialect, orchDialect } from '#apimachinery/dialect.js';
import { templateHash } from '#controllers/deployment/template-hash.js';

interface Row {
  readonly hash: string;
  /** With a count of three collisions. */
  readonly afterThree: string;
  readonly template: PodTemplateSpec;
}

const file = new URL('../../../../pkg/controllers/deployment/testdata/template-hashes.json', import.meta.url);
const rows = JSON.parse(readFileSync(file, 'utf8')) as readonly Row[];

t.test('hashes equal those of 1.24', async (t) => {
  const type = schemeFor(dialect).type('core.v1.PodTemplateSpec');
  for (const [i, { hash, afterThree, template: text }] of rows.entries()) {
    const template = decodeJSON(JSON.stringify(text), type).object as unknown as PodTemplateSpec;
    t.equal(templateHash(dialect, template, undefined), hash, `template ${i}`);
    t.equal(templateHash(dialect, template, 3), afterThree, `template ${i} after collisions`);
    t.equal(templateHash(orchDialect, template, undefined), hash, `template ${i} in the other dialect`);
  }
});

t.test('unusual values can be hashed', async (t) => {
  const metadata = {
    creationTimestamp: '2024-05-01T10:00:00Z',
    managedFields: [{ manager: 'm', fieldsV1: { 'f:a': {} } }],
  };
  const template = { metadata, spec: { containers: [] } };
  t.match(templateHash(dialect, template, undefined), /^[bcdfghjklmnpqrstvwxz2456789]{1,10}$/);
  t.not(templateHash(dialect, template, undefined), templateHash(dialect, { spec: { containers: [] } }, undefined));
});
