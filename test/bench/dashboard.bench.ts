/**
 * The dashboard of a large cluster in Chromium, through `orchctl ui`, while pods and nodes change: first paint and content of
 * every page, time from a write until the page shows it, longest task while tables scroll, heap; and what an open page costs the
 * API server. On a busy machine: `nice -n -5 hack/bench.sh dashboard`.
 *
 * `hack/bench.sh dashboard [--nodes 5000] [--pods 50000] [--events 100] [--seconds 15] [--strict]`
 * `--strict`: exits with 1 if a limit is exceeded.
 */
import { parseArgs } from 'node:util';
import { realClock as clock } from '#apimachinery/clock.js';
import { podName, teamOf } from '#test/bench/dashboard/cluster-objects.js';
import type { MeasuredPage } from '#test/bench/dashboard/measured-page.js';
import { Stage } from '#test/bench/dashboard/stage.js';
import { walkedPages } from '#test/bench/dashboard/walk.js';
import { cpuMs, figure, machineLine, megabytes, residentBytes } from '#test/bench/report.js';
import { whyNoBrowser } from '#test/e2e/dashboard/browser.js';

const { values } = parseArgs({
  options: {
    nodes: { type: 'string', default: '5000' },
    pods: { type: 'string', default: '50000' },
    events: { type: 'string', default: '100' },
    seconds: { type: 'string', default: '15' },
    strict: { type: 'boolean', default: false },
  },
});
const perSecond = Number(values.events);
const seconds = Number(values.seconds);
const marks = 30;
const limits = { firstPaintMs: 1000, eventMs: 200, taskMs: 50 } as const;
const missed: string[] = [];

function milliseconds(name: string, ms: number, limit?: number): void {
  figure(name, `${ms.toFixed(0)} ms`, limit === undefined ? undefined : `${limit} ms`);
  if (limit !== undefined && ms > limit) missed.push(`${name}: ${ms.toFixed(0)} ms`);
}

function quantile(all: readonly number[], part: number): number {
  return [...all].sort((a, b) => a - b)[Math.min(all.length - 1, Math.floor(all.length * part))] ?? 0;
}

async function everyPage(page: MeasuredPage): Promise<void> {
  for (const { name, path, text } of walkedPages) {
    const { firstPaintMs, contentMs, longestTaskMs } = await page.load(path, text);
    milliseconds(`${name}: first paint`, firstPaintMs, limits.firstPaintMs);
    milliseconds('  its content', contentMs);
    milliseconds('  longest task until then', longestTaskMs);
  }
}

/** From a write in the server until the frame that shows it. */
async function events(page: MeasuredPage, name: string, path: string): Promise<void> {
  await page.load(path, podName(0));
  await page.page.getByText('Live', { exact: true }).first().waitFor();
  const times: number[] = [];
  for (let n = 0; n < marks; n++) {
    const reason = `Mark${n}x`;
    const seen = page.seen(reason);
    const { atMs } = await stage.cluster.changePod(0, reason);
    times.push((await seen) - atMs);
  }
  milliseconds(`${name}: an event is on the page, median`, quantile(times, 0.5));
  milliseconds('  the slowest', quantile(times, 1), limits.eventMs);
}

/** By wheel, by keys, and by far jumps. */
async function scroll(page: MeasuredPage, name: string, path: string, text: string): Promise<void> {
  await page.load(path, text);
  await page.page.getByText('Live', { exact: true }).first().waitFor();
  const table = page.page.locator('.table-scroll');
  await table.hover();
  await page.longestTask();
  for (let n = 0; n < 120; n++) {
    await page.page.mouse.wheel(0, 900);
    await page.page.evaluate('new Promise(requestAnimationFrame)');
  }
  milliseconds(`${name}: longest task of scrolling by wheel`, await page.longestTask(), limits.taskMs);
  await table.focus();
  for (const key of ['End', 'Home', 'PageDown', 'PageDown', 'End']) {
    await page.page.keyboard.press(key);
    await page.page.evaluate('new Promise(requestAnimationFrame)');
  }
  milliseconds('  by keys', await page.longestTask(), limits.taskMs);
  await page.page.evaluate(`(async () => {
    const box = document.querySelector('.table-scroll');
    for (let n = 0; n < 60; n++) {
      box.scrollTop = ((n * 37) % 60) / 60 * box.scrollHeight;
      await new Promise(requestAnimationFrame);
    }
  })()`);
  milliseconds('  by jumps', await page.longestTask(), limits.taskMs);
}

async function rest(page: MeasuredPage, name: string): Promise<void> {
  await page.longestTask();
  await clock.sleep(seconds * 1000);
  milliseconds(`${name}: longest task while it is looked at`, await page.longestTask(), limits.taskMs);
  const heap = await page.heap();
  figure('  heap of the page', megabytes(heap.page));
  figure('  heap of its worker', megabytes(heap.worker));
}

/** Share of a core, in percent. */
async function serverShare(): Promise<number> {
  const before = cpuMs(stage.cluster.pid);
  const startedMs = clock.monotonic();
  await clock.sleep(seconds * 1000);
  return ((cpuMs(stage.cluster.pid) - before) / (clock.monotonic() - startedMs)) * 100;
}

async function costs(): Promise<void> {
  await clock.sleep(2000);
  const [alone, memory] = [await serverShare(), residentBytes(stage.cluster.pid)];
  figure(`API server with ${perSecond} events/s, without a page`, `${alone.toFixed(1)} %`);
  figure('  memory', megabytes(memory));
  const page = await stage.open();
  for (const [name, path, text] of [
    ['pods', '/ui/kinds/core/pods', podName(0)],
    ['overview', '/ui/', 'CrashLoopBackOff'],
    ['map of nodes', '/ui/nodes', 'Choose a node'],
  ] as const) {
    const before = cpuMs(stage.cluster.pid);
    await page.load(path, text);
    await clock.sleep(5000);
    const loading = cpuMs(stage.cluster.pid) - before - alone * 50;
    milliseconds(`  with ${name}: CPU of its lists`, loading);
    figure('    CPU above that of the events', `${Math.max(0, (await serverShare()) - alone).toFixed(1)} %`);
  }
  figure('  memory with a page', megabytes(residentBytes(stage.cluster.pid)));
  await page.page.close();
}

const stage = await (async () => {
  const without = whyNoBrowser();
  if (without === undefined) return Stage.start(Number(values.nodes), Number(values.pods));
  process.stdout.write(`not measured: ${without}\n`);
  process.exit(0);
})();
process.stdout.write(`${machineLine()}\n${values.nodes} nodes, ${values.pods} pods, ${perSecond} events/s\n`);
try {
  stage.cluster.churn(perSecond);
  await costs();
  const page = await stage.open();
  await everyPage(page);
  await events(page, 'pods', '/ui/kinds/core/pods');
  await events(page, 'a pod', `/ui/objects/core/pods/${teamOf(0)}/${podName(0)}`);
  await scroll(page, 'pods', '/ui/kinds/core/pods', podName(0));
  await scroll(page, 'nodes', '/ui/kinds/core/nodes', 'node-00000');
  await page.load('/ui/', 'CrashLoopBackOff');
  await rest(page, 'overview');
  await page.load('/ui/nodes', 'Choose a node');
  await rest(page, 'map of nodes');
  await page.load('/ui/kinds/core/pods', podName(0));
  await rest(page, 'pods');
} finally {
  await stage.stop();
}
if (missed.length > 0) process.stdout.write(`above the limit: ${missed.join('; ')}\n`);
if (values.strict && missed.length > 0) process.exitCode = 1;
