import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import protobuf from 'protobufjs';
import t from 'tap';
import { csiV1 } from '#nodeagent/protocols/csi-v1.gen.js';
import { devicePluginV1beta1 } from '#nodeagent/protocols/device-plugin-v1beta1.gen.js';
import { pluginRegistrationV1 } from '#nodeagent/protocols/plugin-registration-v1.gen.js';
import { podResourcesV1 } from '#nodeagent/protocols/pod-resources-v1.gen.js';
import { podResourcesV1alpha1 } from '#nodeagent/protocols/pod-resources-v1alpha1.gen.js';
import { runtimeV1 } from '#nodeagent/protocols/runtime-v1.gen.js';

/** An independent collection beside the checkout, if present. */
const factsFolder = join(fileURLToPath(new URL('../../../../', import.meta.url)), '../shared/api/grpc');

const protocols: { facts: string; descriptor: protobuf.INamespace; messages: number }[] = [
  { facts: 'cri', descriptor: runtimeV1, messages: 120 },
  { facts: 'csi', descriptor: csiV1, messages: 74 },
  { facts: 'deviceplugin', descriptor: devicePluginV1beta1, messages: 19 },
  { facts: 'pluginregistration', descriptor: pluginRegistrationV1, messages: 4 },
  { facts: 'podresources', descriptor: podResourcesV1, messages: 10 },
  { facts: 'podresources-v1alpha1', descriptor: podResourcesV1alpha1, messages: 5 },
];

/** One line per field, value and method of a namespace, such as `.v1.Device#ID string = 1`. */
function facts(of: protobuf.ReflectionObject): string[] {
  if (of instanceof protobuf.Field) {
    const type = of instanceof protobuf.MapField ? `map<${of.keyType}, ${of.type}>` : of.type;
    const { name } = of.partOf ?? { name: '' };
    return [`${of.fullName} ${of.repeated ? 'repeated ' : ''}${type.replace(/^\./, '')} = ${of.id} ${name}`.trim()];
  }
  if (of instanceof protobuf.Enum)
    return Object.entries(of.values).map(([name, id]) => `${of.fullName}.${name} = ${id}`);
  if (of instanceof protobuf.Method) {
    const stream = (is: boolean | undefined) => (is === true ? 'stream ' : '');
    const [request, answered] = [stream(of.requestStream), stream(of.responseStream)];
    return [`${of.fullName} ${request}${of.requestType} ${answered}${of.responseType}`];
  }
  const own = of instanceof protobuf.Type ? of.fieldsArray.flatMap(facts) : [];
  const methods = of instanceof protobuf.Service ? of.methodsArray.flatMap(facts) : [];
  return [...own, ...methods, ...(of instanceof protobuf.Namespace ? of.nestedArray.flatMap(facts) : [])];
}

function* messagesBelow(namespace: protobuf.NamespaceBase): Generator<protobuf.Type> {
  for (const nested of namespace.nestedArray) {
    if (nested instanceof protobuf.Type) yield nested;
    if (nested instanceof protobuf.Namespace && nested.fullName !== '.google') yield* messagesBelow(nested);
  }
}

for (const { facts: name, descriptor, messages } of protocols) {
  const root = protobuf.Root.fromJSON(descriptor);
  t.test(`no message of ${name} lacks a field`, async (t) => {
    const types = [...messagesBelow(root)];
    t.equal(types.length, messages);
    for (const type of types) {
      const last = Math.max(0, ...type.fieldsArray.map(({ id }) => id));
      const numbers = Array.from({ length: last }, (_, i) => i + 1);
      // Field numbers start at one, and retired numbers are reserved.
      const gaps = numbers.filter((id) => type.fieldsById[id] === undefined && !type.isReservedId(id));
      t.same(gaps, [], type.fullName);
      // Field names that clash with reflection properties are easily lost.
      const json = type.toJSON().fields;
      t.same(Object.keys(json).sort(), type.fieldsArray.map((field) => field.name).sort());
    }
    t.doesNotThrow(() => root.resolveAll(), 'and each has a type');
  });

  const file = join(factsFolder, `${name}.json`);
  t.test(
    `${name} matches the independent collection`,
    { skip: existsSync(file) ? false : 'not available' },
    async (t) => {
      const reference = JSON.parse(readFileSync(file, 'utf8'), (_, value: object) =>
        // Extensions only describe definitions and are never sent.
        typeof value === 'object' && value !== null && 'extend' in value ? undefined : value,
      ) as protobuf.INamespace;
      const common = descriptor.nested?.['google'];
      const nested = { ...reference.nested, ...(common === undefined ? {} : { google: common }) };
      const ours = new Set(facts(root));
      t.same(
        facts(protobuf.Root.fromJSON({ nested })).filter((fact) => !ours.has(fact)),
        [],
      );
    },
  );
}

t.test('a field named options survives a round trip', async (t) => {
  const rows: [root: protobuf.INamespace, type: string, value: object][] = [
    [runtimeV1, 'runtime.v1.DNSConfig', { servers: ['10.0.0.10'], options: ['ndots:5'] }],
    [devicePluginV1beta1, 'v1beta1.RegisterRequest', { version: 'v1beta1', options: { preStartRequired: true } }],
  ];
  for (const [descriptor, name, value] of rows) {
    const type = protobuf.Root.fromJSON(descriptor).lookupType(name);
    t.same(type.toObject(type.decode(type.encode(type.fromObject(value)).finish())), value);
  }
});
