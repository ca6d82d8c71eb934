import { tmpdir } from 'node:os';
import t from 'tap';
import { realClock } from '#apimachinery/clock.js';
import { availableMemory, firstText, LocalMachine } from '#nodeagent/node/machine.js';

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

t.test('memory outside of the working set is what is free, and file pages not used recently', async (t) => {
  const lines = ['MemTotal: 8000 kB', 'MemFree:  1000 kB', 'MemAvailable: 7000 kB', 'Inactive: 900 kB'];
  t.equal(availableMemory([...lines, 'Inactive(file): 200 kB'].join('\n')), 1200 * 1024);
  t.equal(availableMemory(lines.join('\n')), undefined);
  const machine = new LocalMachine('/', realClock);
  const { memoryBytes } = await machine.facts();
  const available = await machine.memoryAvailableBytes();
  t.ok(available > 0 && available < memoryBytes, `${available} of ${memoryBytes}`);
});

t.test('file systems are told apart by their device', async (t) => {
  const machine = new LocalMachine(tmpdir(), realClock);
  const device = (await machine.nodeFilesystem()).device;
  t.equal((await machine.filesystem(tmpdir()))?.device, device);
  t.not((await machine.filesystem('/proc'))?.device, device);
});
