import t from 'tap';
import { swapRefusal } from '#nodeagent/node/swap.js';

const heading = 'Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n';

t.test('swap is refused, its absence is not', async (t) => {
  for (const list of ['', heading, heading.trim()]) t.equal(swapRefusal(list), undefined);
  t.match(swapRefusal(`${heading}/dev/sda2 partition 1048572 0 -2\n`), /swap on is not supported.*\n.*\n\/dev\/sda2/);
});
