import t from 'tap';
import { findUntoleratedTaint, tolerates } from '#api/core/v1/node/taints.js';
import type { Taint, Toleration } from '#api/core/v1/types.gen.js';

const taint: Taint = { key: 'k', value: 'v', effect: 'NoSchedule' };

t.test('tolerations', (t) => {
  const rows: [Toleration, boolean][] = [
    [{ key: 'k', value: 'v', effect: 'NoSchedule' }, true],
    [{ key: 'k', operator: 'Equal', value: 'v' }, true],
    [{ key: 'k', value: 'w' }, false],
    [{ key: 'k' }, false],
    [{ key: 'k', operator: 'Exists' }, true],
    [{ operator: 'Exists' }, true],
    [{ operator: 'Exists', effect: 'NoExecute' }, false],
    [{ key: 'j', operator: 'Exists' }, false],
    [{ key: 'k', operator: 'Odd', value: 'v' }, false],
    [{}, false],
  ];
  for (const [toleration, want] of rows) t.equal(tolerates(toleration, taint), want, JSON.stringify(toleration));
  t.end();
});

t.test('the first untolerated taint of the given effects', (t) => {
  const taints: Taint[] = [{ key: 'a', effect: 'PreferNoSchedule' }, taint, { key: 'b', effect: 'NoExecute' }];
  t.equal(findUntoleratedTaint(taints, [], ['NoSchedule', 'NoExecute']), taint);
  t.equal(findUntoleratedTaint(taints, [{ key: 'k', operator: 'Exists' }], ['NoSchedule', 'NoExecute']), taints[2]);
  t.equal(findUntoleratedTaint(taints, [{ operator: 'Exists' }], ['NoSchedule', 'NoExecute']), undefined);
  t.equal(findUntoleratedTaint(undefined, undefined, ['NoSchedule']), undefined);
  t.end();
});
