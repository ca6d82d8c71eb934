/** Typical work with custom resources by kubectl. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Test } from 'tap';
import { stringify } from 'yaml';
import type { Dialect } from '#apimachinery/dialect.js';
import type { Client } from '#client/client.js';
import { eventually, minorVersion, type RunResult, run } from '#test/e2e/harness.js';

interface KubectlCluster {
  readonly client: Client;
  /** A client config. */
  readonly config: string;
  /** Folder for the files of the scenario. */
  readonly folder: string;
}

/** Each kubectl uses its own group, so that it begins with the definition. */
function definition(group: string, dialect: Dialect): object {
  const spec = {
    type: 'object',
    description: 'What is stored, and how much of it.',
    properties: {
      size: { type: 'integer', minimum: 0, description: 'Number of pieces.' },
      label: { type: 'string' },
      items: { type: 'array', items: { type: 'string' } },
    },
  };
  const status = { type: 'object', [`${dialect.extensionPrefix}preserve-unknown-fields`]: true };
  return {
    apiVersion: dialect.apiVersion('apiextensions', 'v1'),
    kind: 'CustomResourceDefinition',
    metadata: { name: `crates.${group}` },
    spec: {
      group,
      scope: 'Namespaced',
      names: { plural: 'crates', singular: 'crate', kind: 'Crate', shortNames: ['cra'], categories: ['harbour'] },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          schema: { openAPIV3Schema: { type: 'object', properties: { spec, status } } },
          subresources: { status: {}, scale: { specReplicasPath: '.spec.size', statusReplicasPath: '.status.size' } },
          additionalPrinterColumns: [{ name: 'Pieces', type: 'integer', jsonPath: '.spec.size' }],
        },
      ],
    },
  };
}

export async function kubectlScenario(t: Test, kubectl: string, cluster: KubectlCluster): Promise<void> {
  const { client, config, folder } = cluster;
  const { dialect } = client;
  const minor = await minorVersion(kubectl);
  const group = `v${minor}.example.com`;
  const env = { KUBECONFIG: config };
  const call = (...args: string[]) => run(kubectl, [`--cache-dir=${join(folder, `cache-${minor}`)}`, ...args], { env });
  const ok = async (...args: string[]): Promise<string> => {
    const { code, stdout, stderr } = await call(...args);
    t.equal(code, 0, args.join(' '), { stdout, stderr });
    return stdout;
  };
  const refused = async (text: RegExp, ...args: string[]): Promise<RunResult> => {
    const result = await call(...args);
    t.not(result.code, 0, args.join(' '));
    t.match(result.stderr, text);
    return result;
  };
  const file = (name: string, ...objects: object[]): string => {
    const path = join(folder, `${minor}-${name}`);
    writeFileSync(path, objects.map((object) => stringify(object)).join('---\n'));
    return path;
  };
  const crate = (name: string, spec: object) => ({
    apiVersion: `${group}/v1`,
    kind: 'Crate',
    metadata: { name, namespace: 'default' },
    spec,
  });
  const field = async (path: string) => ok('get', 'crate', 'one', '-o', `jsonpath={${path}}`);
  const definitionOf = definition(group, dialect);

  const both = file('both.yaml', definitionOf, crate('zero', { size: 1 }));
  // The object's kind may not be served yet when kubectl creates the object; in the end both exist.
  await call('create', '-f', both);
  await ok('wait', '--for=condition=Established', `--timeout=30s`, `crd/crates.${group}`);
  await eventually('both are applied', async () => (await call('apply', '-f', both)).code === 0);
  t.match(await ok('get', 'crates'), /^NAME +PIECES\nzero +1\n$/);
  t.match(await ok('get', 'cra', 'zero', '-o', 'name'), `crate.${group}/zero`);
  t.match(await ok('get', 'harbour'), /zero/);
  t.match(
    await ok('explain', `crates.spec`),
    /What is stored, and how much of it\.[\s\S]*size\s+<integer>\s+Number of pieces\./,
  );
  const one = (spec: object) => file('one.yaml', crate('one', spec));
  t.match(await ok('apply', '-f', one({ size: 2, label: 'a', items: ['x'] })), /created/);
  t.match(await ok('apply', '-f', one({ size: 2, items: ['x', 'two'] })), /configured/);
  t.equal(await field('.spec'), '{"items":["x","two"],"size":2}', 'what is applied no more is gone');
  await ok('apply', '--server-side', '--force-conflicts', '-f', one({ size: 4, label: 'b', items: ['z'] }));
  t.equal(await field('.spec'), '{"items":["z"],"label":"b","size":4}');
  await ok('patch', 'crate', 'one', '--type=merge', '-p', '{"spec":{"label":null}}');
  await ok('patch', 'crate', 'one', '--type=json', '-p', '[{"op":"add","path":"/spec/items/-","value":"w"}]');
  t.equal(await field('.spec'), '{"items":["z","w"],"size":4}');
  await refused(
    /strategic merge patch format is not supported|application\/strategic-merge-patch\+json is not supported|UnsupportedMediaType|the body of the request was in an unknown format/,
    ...['patch', 'crate', 'one', '--type=strategic', '-p', '{"spec":{"size":1}}'],
  );
  await refused(
    /spec\.size.*should be greater than or equal to 0/,
    'patch',
    'crate',
    'one',
    '--type=merge',
    '-p',
    '{"spec":{"size":-1}}',
  );
  await ok('scale', '--replicas=7', 'crate/one');
  t.equal(await field('.spec.size'), '7');
  const path = `/apis/${group}/v1/namespaces/default/crates/one`;
  await client.request(
    'PATCH',
    `${path}/status`,
    { status: { size: 7, conditions: [{ type: 'Ready', status: 'True' }] } },
    { contentType: 'application/merge-patch+json' },
  );
  await ok('wait', '--for=condition=Ready', '--timeout=20s', 'crate/one');
  await ok('patch', 'crate', 'one', '--type=merge', '-p', '{"metadata":{"finalizers":["example.com/hold"]}}');
  await ok('delete', 'crate', 'one', '--wait=false');
  t.not(await field('.metadata.deletionTimestamp'), '');
  await ok('patch', 'crate', 'one', '--type=merge', '-p', '{"metadata":{"finalizers":null}}');
  const waited = await call('wait', '--for=delete', '--timeout=20s', 'crate/one');
  // Older clients fail if the object is already gone.
  if (!waited.stderr.includes('no matching resources found')) t.equal(waited.code, 0, 'it goes', waited);
  await refused(/not found/, 'get', 'crate', 'one');
  await ok('delete', 'crate', 'zero');
  await ok('delete', `crd/crates.${group}`);
  await refused(
    /the server doesn't have a resource type|could not find the requested resource|NotFound/,
    'get',
    `crates.${group}`,
  );
}
