/** Recorded objects in both encodings: both must decode to the same object, which encodes to the same bytes. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { schemeFor } from '#api/scheme.js';
import { decodeValue } from '#apimachinery/codec/json/json.js';
import { decodeEnvelope } from '#apimachinery/codec/protobuf/envelope.js';
import { decodeProtobuf, encodeProtobuf } from '#apimachinery/codec/protobuf/protobuf.js';
import { kubernetesDialect } from '#apimachinery/dialect.js';

const scheme = schemeFor(kubernetesDialect);
const root = fileURLToPath(new URL('../../../../../', import.meta.url));
/** The checkout's fixtures, and optional larger collections beside it or in a folder from the environment. */
const folders: Readonly<Record<string, string>> = {
  'of the checkout': join(root, 'pkg/apimachinery/codec/testdata'),
  'beside the checkout': join(root, '../shared/api/fixtures'),
  'named by ORCH_API_FIXTURES': process.env.ORCH_API_FIXTURES ?? '',
};

function without(object: object): object {
  const { apiVersion: _, kind: __, ...rest } = object as { apiVersion?: string; kind?: string };
  return rest;
}

for (const [where, folder] of Object.entries(folders)) {
  if (folder === '' || !existsSync(folder)) {
    t.test(`fixtures ${where}`, { skip: 'there are none' }, async () => undefined);
    continue;
  }
  const names = readdirSync(folder)
    .filter((name) => name.endsWith('.pb'))
    .map((name) => name.slice(0, -3));
  t.not(names.length, 0, `fixtures ${where}`);
  for (const name of names) {
    t.test(name, async (t) => {
      const [group = '', version = '', kindName = ''] = name.split('.');
      const apiVersion = group === 'core' ? version : `${group}/${version}`;
      const kind = scheme.kind(apiVersion, kindName);
      if (kind === undefined) throw new Error(`unknown kind ${kindName}`);
      const bytes = readFileSync(join(folder, `${name}.pb`));
      const json: unknown = JSON.parse(readFileSync(join(folder, `${name}.json`), 'utf8'));
      const fromJSON = decodeValue(structuredClone(json), kind.type, 'Strict').object;
      t.strictSame(fromJSON, json, 'JSON is written as it was read');
      const fromProtobuf = decodeProtobuf(scheme, bytes, kind).object;
      t.strictSame(fromProtobuf, json, 'Protobuf decodes to the same object');
      const envelope = decodeEnvelope(bytes);
      const names = { apiVersion: envelope.apiVersion, kind: envelope.kind, type: kind.type };
      t.ok(
        encodeProtobuf(names, without(fromJSON)).equals(bytes) || encodeProtobuf(names, fromJSON).equals(bytes),
        'and encodes to the same bytes',
      );
    });
  }
}
