import t from 'tap';
import { isRuntimeReady } from '#containerd/readiness.js';

void t.test('runtime and network must be ready, and nothing else', async (t) => {
  const conditions = (...all: [string, boolean][]) => all.map(([type, status]) => ({ type, status }));
  const warning: [string, boolean] = ['ContainerdHasNoDeprecationWarnings', false];
  const rows: [string, ReturnType<typeof conditions>, boolean, boolean][] = [
    ['both are', conditions(['RuntimeReady', true], ['NetworkReady', true]), true, true],
    ['containerd 2.2 on cgroup v1', conditions(['RuntimeReady', true], ['NetworkReady', true], warning), true, true],
    ['no network', conditions(['RuntimeReady', true], ['NetworkReady', false]), true, false],
    ['a network that comes later', conditions(['RuntimeReady', true], ['NetworkReady', false]), false, true],
    ['no runtime', conditions(['RuntimeReady', false], ['NetworkReady', true]), true, false],
    ['nothing', [], false, false],
  ];
  for (const [what, given, network, ready] of rows) t.equal(isRuntimeReady(given, { network }), ready, what);
});
