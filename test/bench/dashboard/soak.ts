/**
 * Walks Chromium through the dashboard of a large cluster again and again while its objects change, and watches the memory of the
 * page, of its worker and of `orchctl ui`. Exits with 1 if the last third of the walk needs clearly more than the second, or a heap
 * exceeds its bound.
 *
 * `hack/soak.sh --dashboard [--minutes 60] [--nodes 5000] [--pods 50000] [--events 100]`
 */
import { parseArgs } from 'node:util';
import { realClock as clock } from '#apimachinery/clock.js';
import { Stage } from '#test/bench/dashboard/stage.js';
import { walkedPages } from '#test/bench/dashboard/walk.js';
import { machineLine, megabytes } from '#test/bench/report.js';
import { whyNoBrowser } from '#test/e2e/dashboard/browser.js';

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '60' },
    nodes: { type: 'string', default: '5000' },
    pods: { type: 'string', default: '50000' },
    events: { type: 'string', default: '100' },
  },
});
const totalMs = Number(values.minutes) * 60_000;
/** A page is looked at for this long. */
const lookMs = 5000;
const maxBytes = 400e6;
const maxGrowth = 1.15;
/** Growth below this is no leak, whatever its share. */
const slackBytes = 8e6;

interface Sample {
  readonly page: number;
  readonly worker: number;
}

/** The largest of each of three equal parts. */
function peaks(samples: readonly Sample[], of: (sample: Sample) => number): number[] {
  const third = Math.ceil(samples.length / 3);
  return [0, 1, 2].map((part) => Math.max(0, ...samples.slice(part * third, (part + 1) * third).map(of)));
}

async function walk(stage: Stage): Promise<Sample[]> {
  const page = await stage.open();
  const samples: Sample[] = [];
  const endMs = clock.monotonic() + totalMs;
  await page.load('/ui/', 'CrashLoopBackOff');
  for (let round = 0; clock.monotonic() < endMs; round++) {
    // Within the page, as a user goes: what a page leaves behind stays in it.
    const { name, path, text } = walkedPages[round % walkedPages.length] ?? { name: '', path: '/ui/', text: '' };
    await page.go(path, text);
    await clock.sleep(lookMs);
    const heap = await page.heap();
    samples.push(heap);
    const at = ((totalMs - (endMs - clock.monotonic())) / 60_000).toFixed(1).padStart(5);
    process.stdout.write(`${at} min  page ${megabytes(heap.page)}  worker ${megabytes(heap.worker)}  ${name}\n`);
  }
  return samples;
}

const without = whyNoBrowser();
if (without !== undefined) {
  process.stdout.write(`not run: ${without}\n`);
  process.exit(0);
}
const stage = await Stage.start(Number(values.nodes), Number(values.pods));
process.stdout.write(
  `${machineLine()}\n${values.nodes} nodes, ${values.pods} pods, ${values.events} events/s, ${values.minutes} min\n`,
);
try {
  stage.cluster.churn(Number(values.events));
  const samples = await walk(stage);
  for (const part of ['page', 'worker'] as const) {
    const [first = 0, second = 0, third = 0] = peaks(samples, (sample) => sample[part]);
    process.stdout.write(`${part}: most of each third ${[first, second, third].map(megabytes).join(', ')}\n`);
    const grows = third > second * maxGrowth && third - second > slackBytes;
    if (grows || third > maxBytes) process.exitCode = 1;
  }
} finally {
  await stage.stop();
}
process.stdout.write(process.exitCode === 1 ? 'the memory is not bounded\n' : 'the memory is bounded\n');
