/**
 * Memory of stored objects when equal parts are stored once: bytes per object, in JSON and Protobuf. `OBJECTS=10000`.
 *
 * The counts are the same on every machine.
 */
import type { Pod } from '#api/core/v1/types.gen.js';
import { schemeFor } from '#api/scheme.js';
import { ObjectCodec } from '#apimachinery/codec/object-codec.js';
import { kubernetesDialect as dialect } from '#apimachinery/dialect.js';
import { encodeStored, type StorableObject, splice } from '#storage/layout.js';
import { PackedBytes } from '#storage/packing/packed-bytes.js';
import { Packing } from '#storage/packing/packing.js';
import { eventOf, nodeOf, podOf } from '#test/bench/memory/objects.js';
import { benchPod } from '#test/bench/pod.js';

const count = Number(process.env['OBJECTS'] ?? 10_000);
const codec = new ObjectCodec(schemeFor(dialect));

const manager = { operation: 'Update', apiVersion: 'v1', fieldsType: 'FieldsV1' } as const;
const spec = Object.fromEntries(
  ['command', 'env', 'image', 'name', 'ports', 'readinessProbe', 'resources', 'securityContext', 'volumeMounts'].map(
    (field) => [`f:${field}`, {}],
  ),
);

/** As the API server stores an object of a controller. */
function template(): Pod {
  const { metadata, ...rest } = benchPod('first');
  const containers = Object.fromEntries([0, 1].map((i) => [`k:{"name":"container-${i}"}`, { '.': {}, ...spec }]));
  const fieldsV1 = {
    'f:metadata': { 'f:generateName': {}, 'f:labels': { '.': {}, 'f:app': {}, 'f:tier': {} }, 'f:ownerReferences': {} },
    'f:spec': { 'f:containers': containers, 'f:nodeSelector': {}, 'f:tolerations': {}, 'f:volumes': {} },
  };
  return { ...rest, metadata: { ...metadata, managedFields: [{ ...manager, manager: 'manager', fieldsV1 }] } };
}

interface Kept {
  all: number;
  own: number;
}

function measure(name: string, plural: string, make: (n: number) => StorableObject): void {
  const packing = new Packing();
  const forms: Record<'json' | 'protobuf', Kept> = { json: { all: 0, own: 0 }, protobuf: { all: 0, own: 0 } };
  for (let n = 0; n < count; n++) {
    const object = make(n);
    const info = codec.scheme.kind(object.apiVersion ?? '', object.kind ?? '');
    if (info === undefined) throw new Error(`no kind ${object.kind}`);
    const { name = '', namespace } = object.metadata as { name?: string; namespace?: string };
    const key = `/registry/${plural}/${namespace === undefined ? '' : `${namespace}/`}${name}`;
    const bytes = {
      json: splice(encodeStored(object), BigInt(1_000_000 + n)),
      protobuf: codec.encode({ ...object }, info, 'protobuf'),
    };
    for (const form of ['json', 'protobuf'] as const) {
      const packed = packing.pack(key, form, bytes[form]);
      forms[form].all += packed.length;
      forms[form].own += packed instanceof PackedBytes ? packed.ownLength : packed.length;
    }
  }
  const cells = (['json', 'protobuf'] as const).flatMap((form) => {
    const { all, own } = forms[form];
    return [Math.round(all / count), Math.round(own / count), `${((100 * own) / all).toFixed(0)} %`];
  });
  process.stdout.write(`| ${[name, ...cells].join(' | ')} |\n`);
}

process.stdout.write(`${count} of each\n\n`);
process.stdout.write(
  '| objects | JSON, bytes | its own | | Protobuf, bytes | its own | |\n|---|---|---|---|---|---|---|\n',
);
const pod = template();
for (const templates of [100, 1000, count / 3]) {
  const each = Math.round(count / templates);
  measure(`pods, ${each} of each template`, 'pods', (n) => podOf(pod, n, Math.round(templates)) as object);
}
measure('nodes of 4 pools, 50 images each', 'minions', (n) => nodeOf(n) as object);
measure('nodes of 4 pools, no images', 'minions', (n) => nodeOf(n, 0) as object);
measure('events of pods that start', 'events', (n) => eventOf(n, 100) as object);
