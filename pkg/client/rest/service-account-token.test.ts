import t from 'tap';
import { formatTime } from '#apimachinery/clock.js';
import { orchDialect } from '#apimachinery/dialect.js';
import { forbidden, notFound, serviceUnavailable } from '#apimachinery/errors/status.js';
import type { Client } from '#client/client.js';
import { ServiceAccountToken } from '#client/rest/service-account-token.js';
import { VirtualClock } from '#client/testing/virtual-clock.js';

/** An API with tokens valid for ten minutes, whatever is requested. */
function setUp() {
  const clock = new VirtualClock();
  const calls: string[] = [];
  const existing = new Set<string>();
  let failure: Error | undefined;
  let issued = 0;
  const resource = ({ resource: plural }: { resource: string }) => ({
    async createSubresource(name: string) {
      calls.push('token');
      if (failure !== undefined) throw failure;
      if (!existing.has(name)) throw notFound({ group: '', resource: 'serviceaccounts' }, name);
      issued += 1;
      return { status: { token: `t${issued}`, expirationTimestamp: formatTime(clock.now() + 600_000) } };
    },
    async create({ metadata: { name, namespace = '' } }: { metadata: { name: string; namespace?: string } }) {
      calls.push(`${plural} ${name}`);
      if (plural === 'serviceaccounts' && !existing.has(namespace)) {
        throw notFound({ group: '', resource: 'namespaces' }, namespace);
      }
      existing.add(name);
    },
  });
  const client = { dialect: orchDialect, resource } as unknown as Client;
  const token = new ServiceAccountToken({ client, clock, namespace: 'sys', name: 'robot' });
  return {
    clock,
    calls,
    token,
    fail: (error: Error | undefined) => {
      failure = error;
    },
  };
}

t.test('creates a missing account, requests one token and renews it in time', async (t) => {
  const { clock, calls, token } = setUp();
  t.same(await Promise.all([token.token(), token.token()]), ['t1', 't1']);
  const created = ['serviceaccounts robot', 'namespaces sys', 'serviceaccounts robot'];
  t.same(calls, ['token', ...created, 'token']);
  await clock.advance(479_000);
  t.equal(await token.token(), 't1');
  await clock.advance(2000);
  t.equal(await token.token(), 't2', 'after four fifths of its lifetime');
  token.invalidate();
  t.equal(await token.token(), 't3');
});

t.test('a failed renewal matters once the token has expired', async (t) => {
  const { clock, token, fail } = setUp();
  await token.token();
  fail(serviceUnavailable('down'));
  await clock.advance(500_000);
  t.equal(await token.token(), 't1');
  await clock.advance(101_000);
  await t.rejects(token.token(), { message: /down/ });
  fail(forbidden({ group: '', resource: 'serviceaccounts' }, 'robot', 'no'));
  await t.rejects(token.token(), { message: /no/ });
  fail(undefined);
  t.equal(await token.token(), 't2');
});
