import t from 'tap';
import type { Exchange } from '#http/server/exchange.js';
import { RequestLine } from '#http/server/request-line.js';
import { FadingAccount } from '#http/server/server-request.js';

const exchange = {} as Exchange;
const begun = () => undefined;

t.test('the user that has used least goes first', async (t) => {
  const line = new RequestLine();
  const flood = new FadingAccount();
  const node = new FadingAccount();
  flood.charge(100, 0);
  node.charge(1, 0);
  const ask = (account: FadingAccount, sinceMs: number) => line.add({ exchange, account, sinceMs, begun });
  for (let i = 0; i < 3; i++) ask(flood, i);
  for (let i = 3; i < 5; i++) ask(node, i);
  t.same(
    Array.from({ length: 5 }, () => line.next(10)?.sinceMs),
    [3, 4, 0, 1, 2],
  );
  t.equal(line.next(10), undefined);
});

t.test('users with the same use take turns', async (t) => {
  const line = new RequestLine();
  const accounts = Array.from({ length: 3 }, () => new FadingAccount());
  for (let i = 0; i < 4; i++) for (const account of accounts) line.add({ exchange, account, sinceMs: i, begun });
  const order: number[] = [];
  for (let request = line.next(1); request !== undefined; request = line.next(1)) {
    request.account.charge(1, 1);
    order.push(accounts.indexOf(request.account as FadingAccount));
  }
  t.same(order, [0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2]);
});

t.test('use fades, and counts less with a weight', async (t) => {
  const account = new FadingAccount();
  account.charge(100, 1000);
  t.equal(account.used(1000), 100);
  t.ok(Math.abs(account.used(2000) - 100 / Math.E) < 0.1);
  t.ok(account.used(20_000) < 0.01);
  const important = new FadingAccount(10);
  important.charge(100, 0);
  t.equal(important.used(0), 10);
});
