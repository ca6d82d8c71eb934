import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { kubernetesDialect, orchDialect } from '#apimachinery/dialect.js';
import { limitedResources } from '#apiserver/admission/quota-configuration.js';
import { readAdmissionConfig } from '#apiserver/build/admission-config.js';
import { apiServerOptions } from '#apiserver/options/options.js';
import { OptionsError } from '#daemon/options/option.js';
import { parseOptions } from '#daemon/options/parse.js';

t.test('the configuration of admission plugins is read', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'admission-'));
  t.teardown(() => rm(folder, { recursive: true }));
  const path = join(folder, 'config.yaml');
  for (const dialect of [orchDialect, kubernetesDialect]) {
    const read = async (plugins: string) => {
      const head = `apiVersion: ${dialect.apiServerConfigVersion}\nkind: AdmissionConfiguration\n`;
      await writeFile(path, head + plugins);
      const parsed = parseOptions(apiServerOptions(dialect), [`--admission-control-config-file=${path}`], {
        program: 't',
      });
      if (parsed.kind !== 'run') throw new TypeError('no options');
      const configurations = await readAdmissionConfig(parsed.values, dialect, () => true);
      return { configurations, limited: limitedResources(configurations.get('ResourceQuota'), dialect) };
    };
    const quota = (limited: string) =>
      `{apiVersion: ${dialect.apiServerConfigVersion}, kind: ResourceQuotaConfiguration, limitedResources: ${limited}}`;
    const scope = { scopeName: 'PriorityClass', operator: 'In', values: ['high'] };
    const limited = [{ apiGroup: '', resource: 'pods', matchContains: ['cpu'], matchScopes: [scope] }];
    const text = quota(
      '[{resource: pods, matchContains: [cpu], matchScopes: [{scopeName: PriorityClass, operator: In, values: [high]}]}]',
    );
    t.same((await read('plugins: []')).configurations, new Map());
    t.same(
      (await read(`plugins: [{name: ResourceQuota, configuration: ${text}}, {name: Priority}]`)).limited,
      limited,
      'in the file',
    );
    await writeFile(join(folder, 'quota.yaml'), text);
    t.same((await read('plugins: [{name: ResourceQuota, path: quota.yaml}]')).limited, limited, 'in another file');
    for (const [plugins, message] of [
      ['plugins: [{name: ResourceQuota, path: nowhere.yaml}]', /nowhere.yaml/],
      ['plugins: [{path: a}]', /plugins\[0\].name: Required value/],
      ['plugins: [{name: ResourceQuota, configuration: {kind: Odd}}]', /kind "ResourceQuotaConfiguration"/],
      [
        `plugins: [{name: ResourceQuota, configuration: ${quota('[{matchContains: [a]}]')}}]`,
        /resource: Required value/,
      ],
      ['odd: 1', /unknown field "odd"/],
    ] as const) {
      await t.rejects(read(plugins), OptionsError);
      await t.rejects(read(plugins), { message });
    }
  }
});

t.test('parts of the file are chosen as in 1.24', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'admission-'));
  t.teardown(() => rm(folder, { recursive: true }));
  const path = join(folder, 'config');
  await writeFile(join(folder, 'part'), '{from: path}');
  const read = async (file: object | string, runs: (plugin: string) => boolean = () => true) => {
    await writeFile(path, typeof file === 'string' ? file : JSON.stringify(file));
    const parsed = parseOptions(apiServerOptions(orchDialect), [`--admission-control-config-file=${path}`], {
      program: 't',
    });
    if (parsed.kind !== 'run') throw new TypeError('no options');
    const configurations = await readAdmissionConfig(parsed.values, orchDialect, runs);
    return [...configurations].map(([plugin, { value }]) => [plugin, value]);
  };
  const head = { apiVersion: 'apiserver.config.orch.io/v1', kind: 'AdmissionConfiguration' };
  const part = (name: string, more: object = {}) => ({ name, ...more });
  const inline = { configuration: { from: 'file' } };
  const rows: readonly (readonly [string, object, unknown])[] = [
    ['a path', { plugins: [part('A', { path: 'part' })] }, [['A', { from: 'path' }]]],
    ['both', { plugins: [part('A', { path: 'nowhere', ...inline })] }, [['A', { from: 'file' }]]],
    ['twice', { plugins: [part('A', inline), part('A', { path: 'part' })] }, [['A', { from: 'file' }]]],
    ['first without a part', { plugins: [part('A'), part('A', inline)] }, []],
    [
      'strange names',
      { plugins: [part('__proto__', inline), part('', inline)] },
      [
        ['__proto__', { from: 'file' }],
        ['', { from: 'file' }],
      ],
    ],
    [
      'the older version',
      { apiVersion: 'apiserver.orch.io/v1alpha1', plugins: [part('A', inline)] },
      [['A', { from: 'file' }]],
    ],
  ];
  for (const [name, more, expected] of rows) t.strictSame(await read({ ...head, ...more }), expected, name);
  const other = { ...head, plugins: [part('A', { path: 'nowhere' })] };
  t.strictSame(await read(other, () => false), [['A', undefined]], 'a plugin that does not run');
  const policy = { imagePolicy: { a: 1 } };
  t.strictSame(await read(policy), [['ImagePolicyWebhook', policy]], 'a file without a version');
  const selectors = { podNodeSelectorPluginConfig: {} };
  t.strictSame(await read(selectors), [['PodNodeSelector', selectors]], 'another file without a version');
  for (const [file, message] of [
    [{ ...policy, kind: 'AdmissionConfiguration' }, /apiVersion must be "apiserver.config.orch.io\/v1" or/],
    [{ plugins: [] }, /got unexpected config type/],
    ['', /must be an object/],
    ['a: &a [*a]', /config/],
    ['[', /./],
  ] as const)
    await t.rejects(read(file), { name: 'OptionsError', message }, JSON.stringify(file));
});
