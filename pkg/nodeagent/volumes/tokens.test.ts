import t from 'tap';
import type { Pod } from '#api/core/v1/types.gen.js';
import { formatTime } from '#apimachinery/clock.js';
import { orchDialect } from '#apimachinery/dialect.js';
import type { Client } from '#client/client.js';
import { VirtualClock } from '#client/testing/virtual-clock.js';
import { TokenManager } from '#nodeagent/volumes/tokens.js';

const dayMs = 86_400_000;
const hour = { audience: '', expirationSeconds: 3600 };
const pod: Pod = { metadata: { name: 'p', namespace: 'default', uid: 'u' }, spec: { containers: [] } };

/** `serverAheadMs`: how far the API server's clock is ahead of the node's. */
function setUp(serverAheadMs = 0) {
  const clock = new VirtualClock();
  const state = { requests: 0, fails: false };
  const createSubresource = async () => {
    if (state.fails) throw new Error('no API server');
    state.requests += 1;
    const expires = clock.now() + serverAheadMs + 3_600_000;
    return {
      spec: { expirationSeconds: 3600 },
      status: { token: `t${state.requests}`, expirationTimestamp: formatTime(expires) },
    };
  };
  const client = { dialect: orchDialect, resource: () => ({ createSubresource }) } as unknown as Client;
  return { clock, state, tokens: new TokenManager({ client, clock }) };
}

t.test('a token is renewed after four fifths of its lifetime, whatever the clocks show', async (t) => {
  for (const serverAheadMs of [0, dayMs, -dayMs]) {
    const { clock, tokens } = setUp(serverAheadMs);
    const { token, renewAt } = await tokens.get(pod, hour);
    t.equal(token, 't1');
    t.equal(renewAt - clock.monotonic(), 2_880_000);
    await clock.advance(2_879_999);
    t.equal((await tokens.get(pod, hour)).token, 't1');
    await clock.advance(1);
    t.equal((await tokens.get(pod, hour)).token, 't2');
  }
});

t.test("setting the clock back does not extend a token's lifetime", async (t) => {
  const { clock, state, tokens } = setUp();
  await tokens.get(pod, hour);
  clock.setWallClock(-dayMs);
  await clock.advance(2_880_000);
  t.equal((await tokens.get(pod, hour)).token, 't2');
  state.fails = true;
  clock.setWallClock(-dayMs);
  await clock.advance(3_599_999);
  const cachedToken = await tokens.get(pod, hour);
  t.equal(cachedToken.token, 't2', 'an old one is better than none');
  t.equal(cachedToken.renewAt - clock.monotonic(), 60_000);
  await clock.advance(1);
  await t.rejects(tokens.get(pod, hour), { message: 'no API server' });
});

t.test('setting the clock forward, as after a suspend, causes one renewal', async (t) => {
  const { clock, state, tokens } = setUp();
  await tokens.get(pod, hour);
  clock.setWallClock(dayMs);
  for (let i = 0; i < 3; i++) t.equal((await tokens.get(pod, hour)).token, 't2');
  t.equal(state.requests, 2);
});
