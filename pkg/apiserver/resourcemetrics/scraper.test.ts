import t from 'tap';
import { Scraper } from '#apiserver/resourcemetrics/scraper.js';
import { nodeUsage } from '#apiserver/resourcemetrics/usage.js';
import { VirtualClock } from '#client/testing/virtual-clock.js';
import { silentLogger } from '#daemon/log/logger.js';

const periodMs = 15_000;

/** Nodes that use half a core each. */
function setUp(t: { teardown(fn: () => void): void }, count = 3) {
  const clock = new VirtualClock();
  const names = Array.from({ length: count }, (_, i) => `n${i}`);
  const scraped: [node: string, ms: number][] = [];
  const broken = new Set<string>();
  const hanging = new Set<string>();
  /** They answer just before the limit. */
  const slow = new Set<string>();
  let [atOnce, most] = [0, 0];
  const scraper = new Scraper({
    ...{ clock, log: silentLogger, periodMs, nodes: () => names },
    async read(node, signal) {
      scraped.push([node, clock.monotonic()]);
      most = Math.max(most, ++atOnce);
      try {
        if (hanging.has(node))
          await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
        await clock.sleep(slow.has(node) ? 9000 : 10);
        if (broken.has(node)) throw new Error('refused');
        const ms = clock.now();
        return `node_cpu_usage_seconds_total ${ms / 2000} ${ms}\nnode_memory_working_set_bytes 1 ${ms}\n`;
      } finally {
        atOnce -= 1;
      }
    },
  });
  t.teardown(() => scraper.close());
  const measured = () =>
    names.filter((name) => {
      const readings = scraper.readings(name);
      return readings !== undefined && nodeUsage(readings) !== undefined;
    });
  const requestAfter = async (ms: number) => {
    let done = false;
    const promise = scraper.ensureReadings().then(() => {
      done = true;
    });
    await clock.advance(ms);
    return promise.then(() => done);
  };
  return { clock, names, scraped, broken, hanging, slow, scraper, measured, requestAfter, most: () => most };
}

t.test('measuring starts with the first request, which waits for two measurements', async (t) => {
  const { clock, scraped, measured, requestAfter, names } = setUp(t);
  await clock.advance(60_000);
  t.same(scraped, []);
  await requestAfter(1100);
  t.same(measured(), names);
  t.equal(scraped.length, 2 * names.length);
});

t.test('every node is measured once per period, at different times, until requests stop', async (t) => {
  const { clock, scraped, scraper, measured, requestAfter, names } = setUp(t);
  await requestAfter(1100);
  for (let i = 0; i < 20; i++) {
    await clock.advance(periodMs);
    await scraper.ensureReadings();
  }
  scraped.length = 0;
  await clock.advance(periodMs);
  t.same(scraped.map(([node]) => node).sort(), names);
  t.equal(new Set(scraped.map(([, ms]) => Math.round(ms / 1000))).size, 3, 'spread over the period');
  t.same(measured(), names);
  await clock.advance(180_000);
  scraped.length = 0;
  await clock.advance(600_000);
  t.same(scraped, [], 'measuring has stopped');
  t.same(measured(), [], 'no reading is kept');
  await requestAfter(1100);
  t.same(measured(), names, 'until the next request');
});

t.test('unresponsive nodes are left out after two periods, and measured less often', async (t) => {
  const { clock, scraped, scraper, broken, measured, requestAfter, names } = setUp(t);
  await requestAfter(1100);
  broken.add('n1');
  const run = async (ms: number) => {
    for (let passed = 0; passed < ms; passed += periodMs) {
      await clock.advance(periodMs);
      await scraper.ensureReadings();
    }
  };
  await run(periodMs);
  t.same(measured(), names, 'the last measurement is valid for two periods');
  await run(2 * periodMs);
  t.same(measured(), ['n0', 'n2']);
  scraped.length = 0;
  await run(20 * periodMs);
  const times = scraped.filter(([node]) => node === 'n1').length;
  t.ok(times > 0 && times < 6, `scraped ${times} times`);
  broken.delete('n1');
  await run(12 * periodMs);
  t.same(measured(), names, 'the node responds again');
});

t.test('a node that hangs does not delay the others', async (t) => {
  const { clock, hanging, measured, requestAfter } = setUp(t);
  hanging.add('n0');
  await requestAfter(5100);
  t.same(measured(), ['n1', 'n2'], 'the first request has the others');
  await clock.advance(periodMs * 2);
  t.same(measured(), ['n1', 'n2']);
});

t.test('as many slow nodes as are measured at once delay no other, and are measured too', async (t) => {
  const { slow, measured, requestAfter, names, clock, scraper, most } = setUp(t, 100);
  for (const node of names.slice(0, 50)) slow.add(node);
  await requestAfter(3100);
  t.same(measured(), names.slice(50), 'the others at once');
  for (let i = 0; i < 3; i++) {
    await clock.advance(periodMs);
    await scraper.ensureReadings();
  }
  t.same(measured(), names, 'then all');
  t.ok(most() <= 32 + 64, `${most()} at once`);
});

t.test('concurrent measurements are limited', async (t) => {
  const { most, measured, requestAfter, names } = setUp(t, 500);
  await requestAfter(3000);
  t.equal(measured().length, names.length);
  t.ok(most() <= 32, `${most()} at a time`);
});

t.test('readings of deleted nodes are dropped', async (t) => {
  const { clock, scraper, names, requestAfter } = setUp(t);
  await requestAfter(1100);
  names.splice(0, 1);
  await clock.advance(2 * periodMs);
  t.equal(scraper.readings('n0'), undefined);
});

t.test('closing stops measuring', async (t) => {
  const { clock, scraped, scraper, requestAfter } = setUp(t);
  await requestAfter(1100);
  scraper.close();
  scraped.length = 0;
  await clock.advance(600_000);
  await scraper.ensureReadings();
  t.same(scraped, []);
});
