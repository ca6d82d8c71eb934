/** Specification 1, 2.8 and 8: validation of new events, field by field, in the words of 1.24. */
import t from 'tap';
import { covers, type RuleId } from '#test/integration/apiserver/spec/rules.js';
import { startSpec, withEtcd } from '#test/integration/apiserver/spec/spec-server.js';

const path = '/apis/events.k8s.io/v1/namespaces/default/events';
const complete = {
  apiVersion: 'events.k8s.io/v1',
  kind: 'Event',
  metadata: { name: 'e', namespace: 'default' },
  eventTime: '2024-05-01T12:00:00.000001Z',
  action: 'Pulling',
  reason: 'Pulled',
  note: 'said',
  type: 'Normal',
  regarding: { kind: 'Pod', namespace: 'default', name: 'p' },
  reportingController: 'example.com/tester',
  reportingInstance: 'tester-1',
};

t.test('new events', withEtcd, async (t) => {
  const { client } = await startSpec(t);
  let count = 0;
  const named = (fields: object) => {
    count += 1;
    return { ...complete, ...fields, metadata: { name: `e${count}`, namespace: 'default' } };
  };
  const long = 'x'.repeat(129);

  const refused: [readonly RuleId[], object, string][] = [
    [['2.8 eventTime'], { eventTime: null }, 'eventTime: Required value'],
    [['2.8 action'], { action: '' }, 'action: Required value'],
    [['2.8 action', '8 words'], { action: long }, 'action: Invalid value: "": can have at most 128 characters'],
    [['2.8 reason'], { reason: '' }, 'reason: Required value'],
    [['2.8 reason', '8 words'], { reason: long }, 'reason: Invalid value: "": can have at most 128 characters'],
    [
      ['2.8 note', '8 note'],
      { note: 'x'.repeat(1025) },
      'message: Invalid value: "": can have at most 1024 characters',
    ],
    [['2.8 type'], { type: 'Odd' }, 'type: Invalid value: "": has invalid value: Odd'],
    [['2.8 type'], { type: '' }, 'type: Invalid value: "": has invalid value: '],
    [['2.8 reportingInstance'], { reportingInstance: '' }, 'reportingInstance: Required value'],
    [
      ['2.8 reportingInstance', '8 words'],
      { reportingInstance: long },
      'reportingInstance: Invalid value: "": can have at most 128 characters',
    ],
    [
      ['2.8 series.count'],
      { series: { count: 1, lastObservedTime: '2024-05-01T12:00:01.000000Z' } },
      'series.count: Invalid value: "": should be at least 2',
    ],
    [['2.8 series.lastObservedTime'], { series: { count: 2 } }, 'series.lastObservedTime: Required value'],
    [['2.8 deprecatedCount'], { deprecatedCount: 1 }, 'count: Invalid value: "": needs to be unset'],
    [
      ['2.8 deprecatedFirstTimestamp'],
      { deprecatedFirstTimestamp: '2024-05-01T12:00:00Z' },
      'firstTimestamp: Invalid value: "": needs to be unset',
    ],
    [
      ['2.8 deprecatedLastTimestamp'],
      { deprecatedLastTimestamp: '2024-05-01T12:00:00Z' },
      'lastTimestamp: Invalid value: "": needs to be unset',
    ],
    [
      ['2.8 deprecatedSource'],
      { deprecatedSource: { component: 'c' } },
      'source: Invalid value: "": needs to be unset',
    ],
  ];
  for (const [rules, fields, message] of refused) {
    await covers(t, rules, `refused: ${message}`, async (t) => {
      const body = named(fields);
      const { status, json } = await client.post(path, body);
      const { name } = body.metadata;
      t.equal(status, 422);
      t.match(json, {
        code: 422,
        reason: 'Invalid',
        // 1.24 names the kind of the core group, of which these are views.
        message: `Event "${name}" is invalid: ${message}`,
        details: { name, kind: 'Event', causes: [{ field: message.split(':')[0] }] },
      });
      t.equal((await client.get(`${path}/${name}`)).status, 404);
    });
  }

  await covers(t, ['2.8 reportingController'], 'refused without one', async (t) => {
    const { json } = await client.post(path, named({ reportingController: '' }));
    t.match(json, { code: 422, message: /reportingController: Required value/ });
  });

  const accepted: [readonly RuleId[], object][] = [
    [
      ['2.8 action', '2.8 reason', '2.8 reportingInstance', '8 words'],
      { action: 'a'.repeat(128), reason: 'r'.repeat(128) },
    ],
    [['2.8 note', '8 note'], { note: 'x'.repeat(1024) }],
    [['2.8 type'], { type: 'Warning' }],
    [['2.8 series'], { series: { count: 2, lastObservedTime: '2024-05-01T12:00:01.000002Z' } }],
    [['2.8 related'], { related: { kind: 'Node', name: 'n1', apiVersion: 'v1', fieldPath: 'spec' } }],
    [
      ['2.8 regarding'],
      { regarding: { kind: 'Pod', namespace: 'default', name: 'p', uid: 'u', resourceVersion: '7' } },
    ],
    // For events with the newer time, 1.24 does not compare the two namespaces.
    [['2.8 regarding'], { regarding: { kind: 'Pod', namespace: 'other', name: 'p' } }],
  ];
  for (const [rules, fields] of accepted) {
    await covers(t, rules, 'accepted', async (t) => {
      const body = named(fields);
      const { status, json, text } = await client.post(path, body);
      t.equal(status, 201, text);
      t.match(json, body);
      t.equal(json.eventTime, complete.eventTime, 'microseconds stay');
    });
  }

  await covers(
    t,
    [
      '2.8 note',
      '2.8 deprecatedCount',
      '2.8 deprecatedFirstTimestamp',
      '2.8 deprecatedLastTimestamp',
      '2.8 deprecatedSource',
    ],
    'events of older reporters are readable',
    async (t) => {
      const core = {
        apiVersion: 'v1',
        kind: 'Event',
        metadata: { name: 'old', namespace: 'default' },
        involvedObject: { kind: 'Pod', namespace: 'default', name: 'p' },
        message: 'm'.repeat(64 * 1024),
        reason: 'Old',
        type: 'Normal',
        count: 3,
        firstTimestamp: '2024-05-01T12:00:00Z',
        lastTimestamp: '2024-05-01T12:00:05Z',
        source: { component: 'c', host: 'h' },
      };
      await client.make('/api/v1/namespaces/default/events', core);
      t.match((await client.get(`${path}/old`)).json, {
        note: core.message,
        deprecatedCount: 3,
        deprecatedFirstTimestamp: core.firstTimestamp,
        deprecatedLastTimestamp: core.lastTimestamp,
        deprecatedSource: core.source,
        eventTime: null,
      });
    },
  );
});
