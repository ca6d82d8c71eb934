/** The command lines of `docs/testing.md` print what it says: `…` stands for anything. */
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { realClock } from '#apimachinery/clock.js';
import { ManualClock } from '#apimachinery/time/manual-clock.js';
import { commands } from '#cmd/orchctl/commands.js';
import { run } from '#cmd/orchctl/run.js';
import { startTestCluster } from '#testcluster/start-test-cluster.js';

t.setTimeout(180_000);

interface Step {
  readonly command: string;
  readonly output: string;
}

const text = readFileSync(new URL('../../../../docs/testing.md', import.meta.url), 'utf8');
const sections = [
  ...['Time in your hand', 'Settle', 'Snapshots'],
  ...['Pods that behave as told', 'Faults on demand', 'What did my operator do?'],
];

function section(title: string): string {
  const from = text.indexOf(`\n## ${title}\n`);
  const to = text.indexOf('\n## ', from + 1);
  return text.slice(from, to < 0 ? undefined : to);
}

function blocks(part: string, language: string): string[] {
  return [...part.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)].flatMap(([, name, body]) =>
    name === language ? [body ?? ''] : [],
  );
}

function steps(part: string): Step[] {
  return blocks(part, 'console').flatMap((block) =>
    block
      .split(/^\$ /m)
      .filter((each) => each !== '')
      .map((each) => {
        const end = each.indexOf('\n');
        return { command: each.slice(0, end), output: each.slice(end + 1) };
      }),
  );
}

function pattern(output: string): RegExp {
  const escaped = output.split('…').map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(`^${escaped.join('[^\\n]*')}$`);
}

t.test('the examples of all sections', async (t) => {
  const folder = t.testdir();
  const clock = new ManualClock({ startMs: Date.UTC(2030, 0, 1) - 3000, process: realClock });
  const started = await startTestCluster({ nodes: 3, clock });
  t.teardown(() => started.close());
  // Its time when the examples begin.
  if (clock.now() < Date.UTC(2030, 0, 1))
    await started.cluster.client.request('POST', '/test/clock', { set: '2030-01-01T00:00:00Z' });
  const config = join(folder, 'config');
  await writeFile(config, started.kubeconfig());
  const printed = async (command: string): Promise<string> => {
    let output = '';
    const sink = { write: (chunk: string | Buffer) => (output += String(chunk)) };
    const [line = '', counts] = command.split(' | ');
    const argv = line
      .split(' ')
      .slice(1)
      .map((word) => (word.endsWith('.yaml') ? join(folder, word) : word));
    await run(commands, argv, {
      stdin: process.stdin,
      ...{ out: sink, err: sink },
      env: { ORCHCONFIG: config },
      clock: realClock,
      signal: new AbortController().signal,
      onResize: () => () => undefined,
    });
    return counts === 'wc -l' ? `${output.split('\n').length - 1}\n` : output.replace(/([^\n])$/, '$1\n');
  };
  for (const title of sections) {
    const part = section(title);
    for (const manifest of blocks(part, 'yaml')) {
      const [, name = ''] = /^# (\S+)/.exec(manifest) ?? [];
      await writeFile(join(folder, name), manifest);
    }
    const all = steps(part);
    t.not(all.length, 0, `${title} has examples`);
    for (const { command, output } of all) t.match(await printed(command), pattern(output), `$ ${command}`);
  }
});
