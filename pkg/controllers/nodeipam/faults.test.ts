/**
 * Nodes are added and deleted under random faults: lagging caches, failed writes, lost responses, late writes, restarts
 * and leader changes. At no time do node ranges overlap each other or service ranges, no node's range changes, and no
 * block is lost.
 */
import t from 'tap';
import { nodes } from '#api/core/v1/resources.gen.js';
import type { Node } from '#api/core/v1/types.gen.js';
import { conflict, internalError, serverTimeout, serviceUnavailable } from '#apimachinery/errors/status.js';
import { blockHolds, type IPBlock, parseCIDR } from '#apimachinery/net/ip.js';
import { seededRandom } from '#apimachinery/testing/seeded-random.js';
import type { FakeCall } from '#client/testing/fake-api.js';
import { eventLoopTurn } from '#client/testing/virtual-clock.js';
import { Harness } from '#controllers/framework/testing/harness.js';
import { losingResponses } from '#controllers/framework/testing/lost-responses.js';
import { NodeIPAMController } from '#controllers/nodeipam/controller.js';
import { refusal } from '#controllers/nodeipam/testing/server-rules.js';

const seeds = Array.from({ length: 24 }, (_, i) => 9100 + i);
const q = { group: '', resource: 'nodes' };
const names = Array.from({ length: 16 }, (_, i) => `n${i}`);
const block = (text: string): IPBlock => parseCIDR(text) ?? { family: 4, base: new Uint8Array(16), prefix: 0 };
const services = [block('10.0.0.0/23'), block('fd00::/62')];
/** Services use two of the sixteen IPv4 blocks. */
const room = 14;

for (const seed of seeds) {
  t.test(`seed ${seed}`, async (t) => {
    const random = seededRandom(seed);
    const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T;
    const dual = seed % 2 === 0;
    const harness = new Harness(t, [nodes]);
    const { api } = harness;
    let faults = true;
    /** The fraction of failing requests. */
    let trouble = 0.2;
    const client = losingResponses(harness.context.client, () => faults && random() < 0.1);
    const context = { ...harness.context, client };

    /** Checks every state between two requests. */
    const problems: string[] = [];
    const rangesOf = new Map<string, string>();
    const look = () => {
      const seen: { name: string; block: IPBlock }[] = services.map((each) => ({ name: 'Services', block: each }));
      for (const { metadata, spec } of api.list(nodes)) {
        const { uid = '', name = '' } = metadata;
        const text = (spec.podCIDRs ?? []).join();
        const before = rangesOf.get(uid) ?? text;
        if (before !== text) problems.push(`${name} had ${before} and has ${text}`);
        if (text !== '') rangesOf.set(uid, text);
        for (const own of (spec.podCIDRs ?? []).map(block)) {
          for (const other of seen) {
            if (blockHolds(other.block, own) || blockHolds(own, other.block)) {
              problems.push(`${name} has ${text}, which ${other.name} has`);
            }
          }
          seen.push({ name, block: own });
        }
      }
    };
    let late: FakeCall[] = [];
    const land = () => {
      for (const call of late.splice(0)) {
        const { name = '' } = call;
        if (api.get(nodes, name) === undefined || refusal(api, call) !== undefined) continue;
        api.change<Node>(nodes, name, (node) => {
          Object.assign(node.spec, (call.body as Node).spec);
        });
        look();
      }
    };
    api.intercept((call) => {
      look();
      return refusal(api, call);
    });
    api.intercept((call) => {
      if (!faults || call.verb === 'watch') return undefined;
      const dice = random();
      if (dice < trouble / 4) return internalError(new Error('fault'));
      if (dice < trouble / 2) return conflict(q, call.name ?? '', 'fault');
      if (dice > trouble || call.verb !== 'patch') return undefined;
      late.push(call);
      return serverTimeout(q, 'patch', 0);
    });

    let stop = new AbortController();
    let running = Promise.resolve();
    const boot = () => {
      stop = new AbortController();
      const ranges = [
        { range: block('10.0.0.0/20'), prefix: 24 },
        ...(dual ? [{ range: block('fd00::/59'), prefix: 64 }] : []),
      ];
      running = new NodeIPAMController(context, { ranges, serviceRanges: services }).run(stop.signal);
    };
    const end = async () => {
      stop.abort();
      await harness.advance(1);
      await running;
    };
    t.teardown(end);
    for (const name of names.slice(0, 3)) {
      const i = names.indexOf(name) + 5;
      api.seed<Node>(nodes, { metadata: { name }, spec: { podCIDR: `10.0.${i}.0/24`, podCIDRs: [`10.0.${i}.0/24`] } });
    }
    boot();
    await harness.start();

    let thaw = () => {};
    /** The cache and the live store. */
    const cutOff = () => {
      const heal = harness.fail((call) => call.verb === 'watch', serviceUnavailable('cut off'));
      api.dropWatches();
      return heal;
    };
    const add = (name: string) => {
      if (api.get(nodes, name) === undefined) api.seed(nodes, { metadata: { name }, spec: {} });
    };
    const turns = async () => {
      for (let i = Math.floor(random() * 200); i > 0; i -= 1) await eventLoopTurn();
    };
    for (let i = 0; i < 160; i += 1) {
      const dice = random();
      const name = pick(names);
      if (i % 10 === 0) trouble = pick([0.1, 0.3, 0.7]);
      if (dice < 0.3) {
        for (const each of [name, pick(names), pick(names)]) add(each);
        await turns();
      } else if (dice < 0.45) {
        if (api.get(nodes, name) !== undefined) api.remove(nodes, name);
      } else if (dice < 0.5) api.dropWatches();
      else if (dice < 0.55) api.compact();
      else if (dice < 0.65) {
        thaw();
        thaw = random() < 0.7 ? cutOff() : harness.freeze('nodes');
      } else if (dice < 0.8) {
        thaw();
        await harness.advance(30_000);
      } else if (dice < 0.9) land();
      else {
        // The next leader shares the lagging caches. Writes of the previous leader are fenced.
        await end();
        if (random() < 0.5) land();
        late = [];
        boot();
      }
      look();
      if (random() < 0.3) await turns();
      else await harness.advance(Math.floor(random() * 3000));
    }
    land();
    faults = false;
    thaw();
    while (api.list(nodes).length > room) api.remove(nodes, api.list(nodes)[0]?.metadata.name ?? '');
    for (const name of names) {
      if (api.list(nodes).length < room) add(name);
    }
    const without = () => api.list(nodes).filter(({ spec }) => spec.podCIDRs === undefined);
    for (let i = 0; i < 400 && without().length > 0; i += 1) await harness.advance(5000);
    look();
    t.same(problems, []);
    t.same(without(), [], 'as many nodes as possible have a range');
  });
}
