import t from 'tap';
import {
  expired,
  forbidden,
  invalid,
  serviceUnavailable,
  tooLargeResourceVersion,
} from '#apimachinery/errors/status.js';
import {
  cannotStream,
  initialState,
  nextState,
  type ReflectorInput,
  type ReflectorState,
  streaming,
} from '#client/informer/reflector-state.js';
import { TransportError } from '#http/client/transport-error.js';

const watching: ReflectorState = { phase: 'watch', resourceVersion: '5' };
const fresh: ReflectorState = { phase: 'list', resourceVersion: undefined };
const reset = new TransportError('ConnectionReset', 'broke');
const lagging = tooLargeResourceVersion(9n, 5n);
const denied = forbidden({ group: '', resource: 'pods' }, '', 'no');

t.test('chooses the next request', async (t) => {
  const rows: [string, ReflectorState, ReflectorInput, ReflectorState, boolean][] = [
    ['a list is followed by a watch', initialState, { kind: 'listed', resourceVersion: '5' }, watching, false],
    ['a failed list is tried again', initialState, { kind: 'listFailed', error: reset }, initialState, true],
    [
      'an expired list asks for the newest state',
      initialState,
      { kind: 'listFailed', error: expired('') },
      fresh,
      false,
    ],
    ['a lagging server too', initialState, { kind: 'listFailed', error: lagging }, fresh, false],
    ['but not for ever without a pause', fresh, { kind: 'listFailed', error: expired('') }, fresh, true],
    [
      'an ended watch resumes',
      watching,
      { kind: 'watchEnded', resourceVersion: '7' },
      { ...watching, resourceVersion: '7' },
      false,
    ],
    [
      'a broken watch resumes later',
      watching,
      { kind: 'watchEnded', resourceVersion: '7', error: reset },
      { ...watching, resourceVersion: '7' },
      true,
    ],
    [
      'an overloaded server is given time',
      watching,
      { kind: 'watchEnded', resourceVersion: '5', error: serviceUnavailable('') },
      watching,
      true,
    ],
    ['410 lists', watching, { kind: 'watchEnded', resourceVersion: '5', error: expired('') }, fresh, false],
    ['a restored server lists', watching, { kind: 'watchEnded', resourceVersion: '5', error: lagging }, fresh, true],
    ['anything else lists later', watching, { kind: 'watchEnded', resourceVersion: '5', error: denied }, fresh, true],
  ];
  for (const [name, state, input, expected, backOff] of rows)
    t.same(nextState(state, input), { state: expected, backOff }, name);
});

t.test('streams replace lists', async (t) => {
  const stream = streaming(initialState);
  t.same(stream, { phase: 'stream', resourceVersion: '0' });
  t.equal(streaming(watching), watching);
  const refused = invalid({ group: '', kind: 'ListOptions' }, '', []);
  const rows: [unknown, ReflectorState, boolean, boolean][] = [
    [reset, initialState, true, false],
    [expired(''), fresh, false, false],
    [refused, initialState, false, true],
    [denied, initialState, true, false],
  ];
  for (const [error, state, backOff, refuses] of rows) {
    const input: ReflectorInput = { kind: 'streamFailed', error };
    t.same(nextState(stream, input), { state, backOff });
    t.equal(cannotStream(input), refuses);
  }
  t.notOk(cannotStream({ kind: 'listFailed', error: refused }));
});
