import t from 'tap';
import { userFor, type WebhookUser } from '#apiserver/webhooks/credentials.js';

const named = (name: string): [string, WebhookUser] => [name, { tls: { current: async () => ({ ca: name }) } }];
const users = new Map(['a.shop.svc', 'a.shop.svc:8443', '*.shop.svc', '*.svc:9443', 'hooks.example', '*'].map(named));
const rows: [target: string, user: string][] = [
  ['a.shop.svc:443', 'a.shop.svc'],
  ['a.shop.svc:8443', 'a.shop.svc:8443'],
  ['b.shop.svc:443', '*.shop.svc'],
  ['b.other.svc:9443', '*.svc:9443'],
  ['hooks.example', 'hooks.example'],
  ['hooks.example:8443', '*'],
  ['elsewhere', '*'],
];

t.test('the user for a webhook is chosen by its address', async (t) => {
  for (const [target, user] of rows) t.equal(userFor({ users }, target), users.get(user), target);
  const [, current] = named('current');
  t.equal(userFor({ users: new Map(), current }, 'a'), current);
  t.equal(userFor({ users: new Map() }, 'a:443'), undefined);
});
