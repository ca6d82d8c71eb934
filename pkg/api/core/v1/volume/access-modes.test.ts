import t from 'tap';
import { formatAccessModes, knownAccessModes } from '#api/core/v1/volume/access-modes.js';

t.test('the mode of a single pod needs its gate, or is there already', (t) => {
  const newest = 'ReadWriteOncePod';
  t.equal(knownAccessModes(() => false, undefined).includes(newest), false);
  t.equal(knownAccessModes(() => false, ['ReadWriteOnce']).includes(newest), false);
  t.equal(knownAccessModes(() => false, [newest]).includes(newest), true);
  t.equal(knownAccessModes((gate) => gate === newest, undefined).includes(newest), true);
  t.equal(formatAccessModes([newest, 'ReadWriteOnce', newest]), 'RWO,RWOP');
  t.end();
});
