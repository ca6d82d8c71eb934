/** The configuration files in the documentation are accepted without a warning. */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { orchDialect } from '#apimachinery/dialect.js';
import { configuredAgent } from '#cluster/node-agent/program.js';
import { parseOptions } from '#daemon/options/parse.js';
import { nodeAgentOptionTable } from '#nodeagent/options/options.js';

// Tests run compiled, below dist.
const page = new URL('../../../../docs/node-agent.md', import.meta.url);

t.test('documented configuration files', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'documented-'));
  t.teardown(() => rm(directory, { recursive: true }));
  const blocks = [...(await readFile(page, 'utf8')).matchAll(/^```yaml\n(.*?)^```$/gms)].map(([, text = '']) => text);
  t.ok(blocks.length >= 4, 'the page has examples');
  for (const [i, text] of blocks.entries()) {
    const file = join(directory, `${i}.yaml`);
    await writeFile(file, text);
    const parsed = parseOptions(nodeAgentOptionTable(orchDialect), [`--config=${file}`], { program: 'nodeagent' });
    if (parsed.kind !== 'run') throw new Error(parsed.kind);
    const { warnings, values, settings } = await configuredAgent(parsed, orchDialect);
    t.same(warnings, [], `example ${i + 1}`);
    if (i === 0) t.match(settings, { shutdownGracePeriod: 30_000, shutdownGracePeriodCriticalPods: 10_000 }, 'periods');
    if (i === 1) t.equal(settings.shutdownGracePeriodByPodPriority.length, 3, 'periods by priority');
    if (text.includes('format: json'))
      t.match(values, { 'logging-format': 'json', 'log-json-split-stream': true }, 'logs');
    if (text.includes('memorySwap'))
      t.match(values, { 'fail-swap-on': false, 'memory-swap-behavior': 'LimitedSwap' }, 'swap');
  }
});
