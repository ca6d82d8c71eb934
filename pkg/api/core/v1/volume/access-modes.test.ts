import t from 'tap';
import { allowedAccessModes, formatAccessModes } from '#api/core/v1/volume/access-modes.js';

t.test('the mode for a single pod needs its gate or must be stored already', (t) => {
  const newest = 'ReadWriteOncePod';
  t.equal(allowedAccessModes(() => false, undefined).includes(newest), false);
  t.equal(allowedAccessModes(() => false, ['ReadWriteOnce']).includes(newest), false);
  t.equal(allowedAccessModes(() => false, [newest]).includes(newest), true);
  t.equal(allowedAccessModes((gate) => gate === newest, undefined).includes(newest), true);
  t.equal(formatAccessModes([newest, 'ReadWriteOnce', newest]), 'RWO,RWOP');
  t.end();
});
