/** No option of a daemon and no feature gate is ignored without a reason, and the reference gives it. */
import { readdir, readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { orchDialect } from '#apimachinery/dialect.js';
import { nodeAgentProgram } from '#cluster/node-agent/program.js';
import { apiServerProgram } from '#cmd/orch-apiserver/program.js';
import { forkingWorkers } from '#cmd/orch-apiserver/worker-process.js';
import { controllerManagerProgram } from '#cmd/orch-controller-manager/program.js';
import { ingressProgram } from '#cmd/orch-ingress/program.js';
import { proxyProgram } from '#cmd/orch-proxy/program.js';
import { schedulerProgram } from '#cmd/orch-scheduler/program.js';
import { type FeatureGateName, featureGateTable } from '#daemon/options/groups/feature-gate-table.js';
import { idleGate } from '#daemon/options/groups/idle-gates.js';
import { idleFields } from '#nodeagent/options/config/file-only.js';

// Tests run compiled, below dist.
const root = new URL('../../../../', import.meta.url);

const programs = [
  (facts: typeof process) => apiServerProgram(facts, forkingWorkers()),
  controllerManagerProgram,
  schedulerProgram,
  nodeAgentProgram,
  proxyProgram,
  ingressProgram,
].map((make) => {
  const { name, options, actingGates } = make(process);
  return { name: name(orchDialect), table: options(orchDialect), acting: new Set(actingGates?.()) };
});

/** Options of which only one value is allowed, or whose value matters to nothing by its meaning. */
const settled = new Set(['storage-backend', 'audit-log-version', 'audit-webhook-version']);

/** The product's sources without tests, declarations of options, and the tables of gates. */
async function sources(): Promise<string> {
  const texts: string[] = [];
  for (const folder of ['pkg', 'cmd']) {
    const directory = new URL(`${folder}/`, root);
    for (const file of await readdir(fileURLToPath(directory), { recursive: true })) {
      const declares =
        /(^|\/)(groups|options|testing|specified)\/|options\.ts$|rules\.ts$|fields\.ts$|\.test\.ts$|\.gen\.ts$/.test(
          file,
        );
      const readsGates =
        file.endsWith('options/options.ts') || file.endsWith('config/file.ts') || file.endsWith('names.ts');
      if (file.endsWith('.ts') && (!declares || readsGates)) {
        texts.push(await readFile(new URL(file, directory), 'utf8'));
      } else if (file === 'ingress/options.ts') {
        texts.push((await readFile(new URL(file, directory), 'utf8')).replace(/^ {2}'[a-z-]+': /gm, ''));
      }
    }
  }
  return texts.join('\n');
}

const reference = (name: string) => readFile(new URL(`docs/reference/${name}.md`, root), 'utf8');

/** Cells of the table rows, by the name in the first cell. */
function rowsOf(page: string): ReadonlyMap<string, readonly string[]> {
  const cells = page
    .split('\n')
    .filter((line) => line.startsWith('| `'))
    .map((line) => line.split(/(?<!\\)\|/).map((cell) => cell.trim()));
  return new Map(cells.map((row) => [/`(?:--)?([^`]+)`/.exec(row[1] ?? '')?.[1] ?? '', row]));
}

const sentence = /_No effect: [a-z1][^_]{15,}\._$/u;

t.test('every option acts or has a reason in the reference', async (t) => {
  const text = await sources();
  for (const { name, table } of programs) {
    const rows = rowsOf(await reference(name));
    for (const [option, { inert }] of Object.entries(table)) {
      const shown = rows.get(option)?.at(-2) ?? '';
      t.not(shown, '', `${name} --${option} is in the reference`);
      if (inert === undefined) {
        const isRead = new RegExp(`['"\`]${option}['"\`]|values\\??\\.${option}\\b|[{,] ${option}\\b[^\\n]* = `).test(
          text,
        );
        t.ok(isRead || settled.has(option), `${name} --${option} is read`);
        t.notMatch(shown, /No effect/, `${name} --${option}`);
      } else t.match(shown, sentence, `${name} --${option} has a reason`);
    }
  }
});

t.test('every gate acts or has a reason in the reference', async (t) => {
  const text = await sources();
  const acting = new Set(programs.flatMap((program) => [...program.acting]));
  const withGates = programs.filter(({ acting: own }) => own.size > 0);
  for (const { name, acting: own } of withGates) {
    const rows = rowsOf(await reference(name));
    for (const gate of Object.keys(featureGateTable)) {
      const effect = rows.get(gate)?.at(-2) ?? '';
      const says = own.has(gate) ? /^acts here$/ : acting.has(gate) ? /^acts in [a-z-]+( and [a-z-]+)*$/ : sentence;
      t.match(effect, says, `${name} ${gate}`);
    }
  }
  for (const gate of acting) {
    t.match(text, new RegExp(`['"\`.]${gate}\\b`), `${gate} is read`);
    t.equal(idleGate(gate as FeatureGateName), undefined, `${gate} acts: it needs no reason`);
  }
});

t.test('fields of a configuration file without an effect have a reason', async (t) => {
  for (const [field, why] of Object.entries(idleFields)) t.match(why, /^[a-z].{10,}/, field);
});
