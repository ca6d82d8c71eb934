/** Plugins from modules: the example, and invalid modules. */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { orchDialect as dialect } from '#apimachinery/dialect.js';
import { OptionsError } from '#daemon/options/option.js';
import { parseOptions } from '#daemon/options/parse.js';
import { formatSchedulerConfig } from '#scheduler/options/config/format.js';
import { pluginsOfModules, resolveScheduler } from '#scheduler/options/config/resolve.js';
import { schedulerOptions } from '#scheduler/options/options.js';
import { makeProfiles } from '#scheduler/plugins/profiles.js';
import { defaultContext } from '#scheduler/plugins/registry.js';
import { cluster } from '#test/integration/scheduler/cluster.js';

/** Tests run from dist/test/integration/scheduler. */
const example = fileURLToPath(new URL('../../../../examples/scheduler-plugin/config.yaml', import.meta.url));

async function resolved(source: string) {
  const file = { source, text: await readFile(source, 'utf8') };
  const table = schedulerOptions(dialect);
  const parsed = parseOptions(table, [], { program: 'x' });
  if (parsed.kind !== 'run') throw new Error('no run');
  const morePlugins = await pluginsOfModules(file);
  const { options, settings } = resolveScheduler(parsed, { table, dialect, file, morePlugins });
  const profiles = makeProfiles(settings, dialect, defaultContext, morePlugins);
  return { profiles, written: formatSchedulerConfig(options.values, settings, dialect) };
}

t.test('the example works', async (t) => {
  const { profiles, written } = await resolved(example);
  t.match(written, /pluginModules:\n {2}- path: \/.*quiet-nodes.mjs/);
  const c = await cluster(t, { profiles });
  await c.node('quiet', {}, { 'example.com/quiet': '' });
  await c.pod('loud');
  const waiting = await c.when('loud', ({ status }) => status?.conditions?.[0]?.status === 'False');
  t.match(waiting.status?.conditions?.[0]?.message, '0/1 nodes are available: 1 node(s) wanted to be quiet.');
  await c.node('any');
  t.equal((await c.when('loud', ({ spec }) => (spec.nodeName ?? '') !== '')).spec.nodeName, 'any');
});

t.test('refuses invalid modules', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'plugins-'));
  t.teardown(() => rm(folder, { recursive: true }));
  let moduleCount = 0;
  const messages = async (code: string | undefined, use = 'Own') => {
    // Modules are loaded once for each path.
    const module = `own-${++moduleCount}.mjs`;
    if (code !== undefined) await writeFile(join(folder, module), code);
    const source = join(folder, 'config.yaml');
    const head = 'apiVersion: scheduler.config.orch.io/v1beta3\nkind: OrchSchedulerConfiguration\n';
    const profile = `{plugins: {multiPoint: {enabled: [{name: ${use}}]}}}`;
    await writeFile(source, `${head}pluginModules: [{path: ./${module}}]\nprofiles: [${profile}]\n`);
    try {
      await resolved(source);
      return '';
    } catch (error) {
      if (error instanceof OptionsError) return error.messages.join();
      throw error;
    }
  };
  const make = (plugin: string) => `export default { name: 'Own', make: () => (${plugin}) };`;
  const rows: [code: string | undefined, want: string | RegExp][] = [
    [make("{ name: 'Own' }"), /^$/],
    [undefined, /config.yaml: pluginModules\[0\].path: Invalid value: .*Cannot find module/],
    ['export default', /pluginModules\[0\].path: .*Unexpected/],
    ['export const a = 1;', /default export must be an object/],
    ["export default { name: 'a b', make() {} };", /name must be up to 63/],
    ["export default { name: 'NodeName', make() {} };", /"NodeName" already exists/],
    ["export default { name: 'Own' };", /make must be a function/],
    ["export default { name: 'Own', make() { throw new Error('no luck'); } };", /plugin "Own": make failed: no luck/],
    [make("{ name: 'Other' }"), /a plugin of the same name/],
    [make("{ name: 'Own', bind: 1 }"), /bind must be a function/],
    [make("{ name: 'Own', filter: { local: true } }"), /filter.prepare must be a function/],
    [make("{ name: 'Own', events: ['Rain'] }"), /unknown events: Rain/],
  ];
  for (const [code, want] of rows) t.match(await messages(code), want, code ?? 'no such file');
  t.match(await messages(make("{ name: 'Own' }"), 'Another'), /"Another": does not exist/);
});
