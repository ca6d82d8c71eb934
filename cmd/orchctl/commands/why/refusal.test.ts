import t from 'tap';
import { stepOf, warningsIn, webhooksIn } from '#cmd/orchctl/commands/why/refusal.js';
import { verdictText } from '#cmd/orchctl/commands/why/text.js';

const rows: [code: number, message: string, step: string][] = [
  [400, 'admission webhook "a.b.c" denied the request: no', 'admission webhook a.b.c'],
  [400, 'admission webhook "a.b.c" does not support dry run', 'admission webhook a.b.c'],
  [
    500,
    'Internal error occurred: failed calling webhook "a.b.c": failed to call webhook: EOF',
    'admission webhook a.b.c, which fails',
  ],
  [500, 'conversion webhook for a/v1, Kind=B failed: x', 'conversion webhook'],
  [403, 'pods "p" is forbidden: exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1', 'quota'],
  [
    403,
    'pods is forbidden: User "bob" cannot create resource "pods" in API group "" in the namespace "x"',
    'authorization',
  ],
  [403, 'pods "p" is forbidden: error looking up service account x/default', 'admission'],
  [401, 'Unauthorized', 'authentication'],
  [422, 'Pod "p" is invalid: spec.containers: Required value', 'validation'],
  [400, 'strict decoding error: unknown field "x"', 'decoding of the object'],
  [500, 'boom', 'server'],
];

t.test('finds the step that refuses', async (t) => {
  for (const [code, message, step] of rows) t.equal(stepOf({ code, message }), step, message);
});

t.test('reads webhooks and warnings from headers', async (t) => {
  t.same(webhooksIn('cache;dur=1, webhook;desc="a.b.c allowed";dur=2.5, webhook;desc="d.e.f denied";dur=30'), [
    { webhook: 'a.b.c', outcome: 'allowed', milliseconds: 2.5 },
    { webhook: 'd.e.f', outcome: 'denied', milliseconds: 30 },
  ]);
  t.same(webhooksIn(undefined), []);
  t.same(warningsIn('299 - "a \\"b\\"", 299 - "c"'), ['a "b"', 'c']);
});

t.test('prints verdicts as text', async (t) => {
  t.equal(
    verdictText({
      object: 'configmaps/one',
      outcome: 'Refused',
      step: 'admission webhook d.e.f',
      message: 'no',
      webhooks: [
        { webhook: 'a.b.c', outcome: 'allowed', milliseconds: 2.5 },
        { webhook: 'd.e.f', outcome: 'denied', milliseconds: 30 },
      ],
      warnings: ['mind the gap'],
    }),
    `configmaps/one: would be refused by the admission webhook d.e.f
  no

Called webhooks:
  WEBHOOK   OUTCOME   TIME
  a.b.c     allowed   2.5 ms
  d.e.f     denied    30 ms

Warnings:
  mind the gap
`,
  );
  t.equal(
    verdictText({ object: 'configmaps/one', outcome: 'Accepted', webhooks: [], warnings: [] }),
    'configmaps/one: would be accepted\n',
  );
});
