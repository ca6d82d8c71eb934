import t from 'tap';
import { componentStatusStrategy } from '#api/core/v1/componentstatus/strategy.js';
import { testContext } from '#api/testing/strategy-table.js';

t.test('cells', (t) => {
  const cells = (conditions?: { type: string; status: string; message?: string; error?: string }[]) =>
    componentStatusStrategy.cells?.({ metadata: { name: 'x' }, ...(conditions && { conditions }) }, testContext);
  t.strictSame(cells(), ['x', 'Unknown', '', '']);
  t.strictSame(cells([{ type: 'Healthy', status: 'True', message: 'ok' }]), ['x', 'Healthy', 'ok', '']);
  t.strictSame(cells([{ type: 'Healthy', status: 'False', error: 'no' }]), ['x', 'Unhealthy', '', 'no']);
  t.end();
});
