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
      const configurations = await readAdmissionConfig(parsed.values, dialect);
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
