/** orchctl prints what kubectl 1.24.17 prints, to the letter but for the product's names; recorded by hack/record-peer.sh. */
import { setMaxListeners } from 'node:events';
import { Readable } from 'node:stream';
import t from 'tap';
import { realClock } from '#apimachinery/clock.js';
import { commands } from '#cmd/orchctl/commands.js';
import { run } from '#cmd/orchctl/run.js';
import { type Answer, steady } from '#test/integration/client/kubectl/answer.js';
import { recordedAnswers } from '#test/integration/client/kubectl/recorded.js';
import type { Row } from '#test/integration/client/kubectl/rows.js';
import { type Place, preparePlace, withPaths } from '#test/integration/client/kubectl/server.js';
import { type TableName, tables } from '#test/integration/client/kubectl/table.js';

t.setTimeout(120_000);
const { signal } = new AbortController();
// Every request in flight listens to it.
setMaxListeners(0, signal);

async function answerOf(args: readonly string[], input: string, place: Place): Promise<Answer> {
  const [out, err]: [string[], string[]] = [[], []];
  const code = await run(commands, withPaths(args, place), {
    stdin: Readable.from(input === '' ? [] : [Buffer.from(input)]) as unknown as NodeJS.ReadStream,
    out: { write: (part) => out.push(part.toString()), isTTY: false },
    err: { write: (part) => err.push(part.toString()) },
    ...{ env: { KUBECONFIG: place.config, HOME: place.folder, PATH: process.env['PATH'] } },
    ...{ clock: realClock, signal, onResize: () => () => undefined },
  });
  return { out: out.join(''), err: err.join(''), code };
}

for (const name of Object.keys(tables) as TableName[])
  t.test(`answers like the other client: ${name}`, async (t) => {
    const place = await preparePlace();
    t.teardown(() => place.stop());
    const recorded = recordedAnswers(name);
    const table: readonly Row[] = tables[name];
    t.equal(recorded.length, table.length, 'every command is recorded');
    for (const [i, { args, input = '' }] of table.entries()) {
      const [command, answer] = recorded[i] ?? [];
      t.equal(command, args.join(' '));
      t.strictSame(steady(await answerOf(args, input, place), place), answer, args.join(' '));
    }
  });
