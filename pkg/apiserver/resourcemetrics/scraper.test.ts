import t from 'tap';
import { Scraper } from '#apiserver/resourcemetrics/scraper.js';
import { nodeUsage } from '#apiserver/resourcemetrics/usage.js';
import { VirtualClock } from '#client/testing/virtual-clock.js';
import { silentLogger } from '#daemon/log/logger.js';

const periodMs = 15_000;

/** Nodes that use half a core each, and what was asked of them. */
function setUp(t: { teardown(fn: () => void): void }, count = 3) {
  const clock = new VirtualClock();
  const names = Array.from({ length: count }, (_, i) => `n${i}`);
  const asked: [node: string, ms: number][] = [];
  const broken = new Set<string>();
  const hanging = new Set<string>();
  let [atOnce, most] = [0, 0];
  const scraper = new Scraper({
    ...{ clock, log: silentLogger, periodMs, nodes: () => names },
    async read(node, signal) {
      asked.push([node, clock.monotonic()]);
      most = Math.max(most, ++atOnce);
      try {
        if (hanging.has(node))
          await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
        await clock.sleep(10);
        if (broken.has(node)) throw new Error('refused');
        const ms = clock.now();
        return `node_cpu_usage_seconds_total ${ms / 2000} ${ms}\nnode_memory_working_set_bytes 1 ${ms}\n`;
      } finally {
        atOnce -= 1;
      }
    },
  });
  t.teardown(() => scraper.close());
  const known = () =>
    names.filter((name) => {
      const readings = scraper.readings(name);
      return readings !== undefined && nodeUsage(readings) !== undefined;
    });
  const wanted = async (ms: number) => {
    let done = false;
    const promise = scraper.wanted().then(() => {
      done = true;
    });
    await clock.advance(ms);
    return promise.then(() => done);
  };
  return { clock, names, asked, broken, hanging, scraper, known, wanted, most: () => most };
}

t.test('nothing is read before somebody asks, who waits for two measurements', async (t) => {
  const { clock, asked, known, wanted, names } = setUp(t);
  await clock.advance(60_000);
  t.same(asked, []);
  await wanted(1100);
  t.same(known(), names);
  t.equal(asked.length, 2 * names.length);
});

t.test('then each once in a period, at different times, until nobody asks', async (t) => {
  const { clock, asked, scraper, known, wanted, names } = setUp(t);
  await wanted(1100);
  for (let i = 0; i < 20; i++) {
    await clock.advance(periodMs);
    await scraper.wanted();
  }
  asked.length = 0;
  await clock.advance(periodMs);
  t.same(asked.map(([node]) => node).sort(), names);
  t.equal(new Set(asked.map(([, ms]) => Math.round(ms / 1000))).size, 3, 'spread over the period');
  t.same(known(), names);
  await clock.advance(180_000);
  asked.length = 0;
  await clock.advance(600_000);
  t.same(asked, [], 'it has ended');
  t.same(known(), [], 'and holds nothing');
  await wanted(1100);
  t.same(known(), names, 'until somebody asks again');
});

t.test('nodes that do not answer are left out after two periods, and asked less and less', async (t) => {
  const { clock, asked, scraper, broken, known, wanted, names } = setUp(t);
  await wanted(1100);
  broken.add('n1');
  const run = async (ms: number) => {
    for (let passed = 0; passed < ms; passed += periodMs) {
      await clock.advance(periodMs);
      await scraper.wanted();
    }
  };
  await run(periodMs);
  t.same(known(), names, 'what was known is good for a while');
  await run(2 * periodMs);
  t.same(known(), ['n0', 'n2']);
  asked.length = 0;
  await run(20 * periodMs);
  const times = asked.filter(([node]) => node === 'n1').length;
  t.ok(times > 0 && times < 6, `asked ${times} times`);
  broken.delete('n1');
  await run(12 * periodMs);
  t.same(known(), names, 'it is back');
});

t.test('a node that hangs holds nobody up', async (t) => {
  const { clock, hanging, known, wanted } = setUp(t);
  hanging.add('n0');
  await wanted(5100);
  t.same(known(), [], 'whoever asked first does not wait for ever');
  await clock.advance(periodMs * 2);
  t.same(known(), ['n1', 'n2']);
});

t.test('many nodes are not asked all at once', async (t) => {
  const { most, known, wanted, names } = setUp(t, 500);
  await wanted(3000);
  t.equal(known().length, names.length);
  t.ok(most() <= 32, `${most()} at a time`);
});

t.test('nothing is left of nodes that are gone', async (t) => {
  const { clock, scraper, names, wanted } = setUp(t);
  await wanted(1100);
  names.splice(0, 1);
  await clock.advance(2 * periodMs);
  t.equal(scraper.readings('n0'), undefined);
});

t.test('it ends with its server', async (t) => {
  const { clock, asked, scraper, wanted } = setUp(t);
  await wanted(1100);
  scraper.close();
  asked.length = 0;
  await clock.advance(600_000);
  await scraper.wanted();
  t.same(asked, []);
});
