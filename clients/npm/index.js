import { spawn } from 'node:child_process';

/**
 * Starts a cluster for tests, which ends with `stop`, or with this process.
 * @param {import('./index.js').ClusterOptions} [options]
 * @returns {Promise<import('./index.js').TestCluster>}
 */
export async function startCluster(options = {}) {
  const program = options.program ?? process.env.ORCH ?? 'orch';
  const child = spawn(program, ['test', 'serve', '--json', ...flagsOf(options)], { stdio: ['pipe', 'pipe', 'pipe'] });
  // The end of its input ends the cluster; it may have ended before.
  child.stdin.on('error', () => undefined);
  const exited = new Promise((resolve) => child.once('close', resolve));
  const facts = await factsFrom(child, program);
  // Neither the process nor its pipes keep a finished test alive.
  child.unref();
  for (const stream of [child.stdin, child.stdout, child.stderr]) stream.unref();
  const stop = async () => {
    child.ref();
    child.stdin.end();
    await exited;
  };
  return { ...facts, stop, [Symbol.asyncDispose ?? Symbol.for('asyncDispose')]: stop };
}

function flagsOf({ controllers, nodes, dialect, clock, time, podRules, featureGates = {}, flags = [] }) {
  const named = { controllers, nodes, dialect, clock, time, 'pod-rules': podRules };
  const gates = Object.entries(featureGates).map(([name, on]) => `${name}=${on}`);
  return [
    ...Object.entries(named).flatMap(([name, value]) => (value === undefined ? [] : [`--${name}=${value}`])),
    ...(gates.length === 0 ? [] : [`--feature-gates=${gates.join(',')}`]),
    ...flags,
  ];
}

/** The first line of its output. Rejects with the words of a program that fails. */
function factsFrom(child, program) {
  return new Promise((resolve, reject) => {
    let line = '';
    let words = '';
    child.stdout.setEncoding('utf8').on('data', (part) => {
      line += part;
      if (line.includes('\n')) resolve(JSON.parse(line));
    });
    child.stderr.setEncoding('utf8').on('data', (part) => {
      words = (words + part).slice(-10_000);
    });
    child.once('error', (error) => reject(new Error(`cannot run ${program}: ${error.message}`, { cause: error })));
    child.once('close', (code) => reject(new Error(`${program} ended with code ${code}: ${words.trim()}`)));
  });
}
