/** Records kubectl's answers: `hack/record-peer.sh client [TABLE…]` (PEER_CLIENT names the program). */
import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { stdout } from 'node:process';
import { realClock } from '#apimachinery/clock.js';
import { type Answer, steady } from '#test/integration/client/kubectl/answer.js';
import { recordedFile } from '#test/integration/client/kubectl/recorded.js';
import type { Row } from '#test/integration/client/kubectl/rows.js';
import { type Place, preparePlace, withPaths } from '#test/integration/client/kubectl/server.js';
import { type TableName, tables } from '#test/integration/client/kubectl/table.js';

const program = process.env['PEER_CLIENT'];
if (program === undefined) throw new Error('PEER_CLIENT must name a kubectl of release 1.24');

function answerOf(path: string, { args, input = '' }: Row, place: Place): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const env = { KUBECONFIG: place.config, HOME: place.folder, PATH: process.env['PATH'] ?? '' };
    const child = spawn(path, withPaths(args, place), { env, cwd: place.folder });
    const [out, err]: [Buffer[], Buffer[]] = [[], []];
    child.stdout.on('data', (part: Buffer) => out.push(part));
    child.stderr.on('data', (part: Buffer) => err.push(part));
    child.once('error', reject);
    child.once('close', (code) =>
      resolve({ out: Buffer.concat(out).toString(), err: Buffer.concat(err).toString(), code: code ?? 128 }),
    );
    // A command that waits for what never comes has no place in the table.
    const limit = realClock.setTimer(() => {
      child.kill();
      reject(new Error(`no end of ${args.join(' ')}`));
    }, 60_000);
    child.once('close', () => limit.cancel());
    child.stdin.on('error', () => undefined);
    child.stdin.end(input);
  });
}

const chosen = process.argv.slice(2);
for (const name of Object.keys(tables) as TableName[]) {
  if (chosen.length > 0 && !chosen.includes(name)) continue;
  const place = await preparePlace();
  const recorded: Record<string, Answer>[] = [];
  for (const row of tables[name]) {
    recorded.push({ [row.args.join(' ')]: steady(await answerOf(program, row, place), place) });
  }
  await place.stop();
  const file = recordedFile(name);
  writeFileSync(file, `${JSON.stringify(recorded, undefined, 2)}\n`);
  stdout.write(`${recorded.length} answers in ${file}\n`);
}
