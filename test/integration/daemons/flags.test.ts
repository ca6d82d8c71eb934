/**
 * Command lines that daemons of release 1.24 refuse: our daemons must print the messages in `flags/recorded`, unless
 * `deliberate.json` there has another message and a reason. `RECORD=1` with the programs that `flags/record.ts` names records
 * them again; `OWN=FOLDER` writes our messages there.
 */

import { generateKeyPairSync } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { type DaemonName, daemonCases } from '#test/integration/daemons/flags/cases.js';
import { ownRefusal } from '#test/integration/daemons/flags/own.js';
import { programVariables, refusalOf } from '#test/integration/daemons/flags/record.js';

const folder = fileURLToPath(new URL('../../../../test/integration/daemons/flags/recorded/', import.meta.url));

const nameOf = (flag: string): string => flag.split('=', 1)[0] ?? '';

/** The flags of a case, after the required flags that the case does not give. */
function commandLine(daemon: DaemonName, flags: readonly string[], directory: string): string[] {
  const names = new Set(flags.map(nameOf));
  const needs = daemonCases[daemon].needs.filter((flag) => !names.has(nameOf(flag)));
  return [...needs, ...flags].map((flag) => flag.replaceAll('$DIR', directory));
}

async function keyDirectory(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'flags-'));
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  await writeFile(join(directory, 'sa.key'), privateKey.export({ type: 'pkcs1', format: 'pem' }));
  await writeFile(join(directory, 'sa.pub'), publicKey.export({ type: 'spki', format: 'pem' }));
  return directory;
}

/** The message without the prefix that the node agent of 1.24 adds for the component that refuses. */
function bare(words: string): string {
  return words
    .replace(
      /^failed to (?:parse kubelet flag|run Kubelet|construct kubelet dependencies|validate kubelet flags): /,
      '',
    )
    .replace(/^failed to validate kubelet configuration, error: (.*), path: &TypeMeta\{.*\}$/s, '$1');
}

/** Different messages of our daemons, by reason and daemon. Null: the daemon starts. */
type Deliberate = Readonly<Record<string, Readonly<Record<string, Recorded>>>>;

async function differencesOf(daemon: DaemonName): Promise<Recorded> {
  const reasons = JSON.parse(await readFile(`${folder}deliberate.json`, 'utf8')) as Deliberate;
  return Object.assign({}, ...Object.values(reasons).map((daemons) => daemons[daemon] ?? {})) as Recorded;
}

type Recorded = Readonly<Record<string, string | null>>;

for (const daemon of Object.keys(daemonCases) as DaemonName[]) {
  const file = `${folder}${daemon}.json`;
  t.test(daemon, async (t) => {
    const directory = await keyDirectory();
    t.teardown(() => rm(directory, { recursive: true }));
    const { cases } = daemonCases[daemon];
    const program = process.env[programVariables[daemon]];
    if (process.env.RECORD !== undefined && program !== undefined) {
      const words: Record<string, string | null> = {};
      for (const flags of cases) {
        const refusal = await refusalOf(daemon, program, commandLine(daemon, flags, directory));
        words[flags.join(' ')] = refusal === undefined ? null : bare(refusal).replaceAll(directory, '$DIR');
      }
      await writeFile(file, `${JSON.stringify(words, undefined, 1)}\n`);
      return;
    }
    const differences = await differencesOf(daemon);
    const recorded = JSON.parse(await readFile(file, 'utf8')) as Recorded;
    const words: Record<string, string | null> = {};
    for (const flags of cases) {
      const line = flags.join(' ');
      const own = (await ownRefusal(daemon, commandLine(daemon, flags, directory)))?.replaceAll(directory, '$DIR');
      const expected = Object.hasOwn(differences, line) ? differences[line] : recorded[line];
      words[line] = own ?? null;
      t.equal(own ?? null, expected, line);
    }
    if (process.env.OWN !== undefined) await writeFile(join(process.env.OWN, `${daemon}.json`), JSON.stringify(words));
  });
}
