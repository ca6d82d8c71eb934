import t from 'tap';
import { realClock } from '#apimachinery/clock.js';
import { firstText, LocalMachine } from '#nodeagent/node/machine.js';

t.test('the first non-empty file is used', async (t) => {
  const files = new Map([
    ['/empty', ''],
    ['/tree', 'uuid-of-the-tree\0'],
    ['/other', 'other'],
  ]);
  const read = async (path: string) => files.get(path) ?? '';
  t.equal(await firstText(['/none', '/empty', '/tree', '/other'], read), 'uuid-of-the-tree');
  t.equal(await firstText(['/none'], read), '');
});

t.test('the system UUID is read with or without DMI', async (t) => {
  const { systemUUID, machineID } = await new LocalMachine('/', realClock).facts();
  if (machineID === '') t.pass('this machine has no id at all');
  else t.not(systemUUID, '');
});
