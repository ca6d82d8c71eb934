import t from 'tap';
import { expectedKernelSettings, kernelSettingErrors, swapRefusal } from '#nodeagent/node/prerequisites.js';

const heading = 'Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n';

t.test('swap is rejected', async (t) => {
  for (const list of ['', heading, heading.trim()]) t.equal(swapRefusal(list), undefined);
  t.match(swapRefusal(`${heading}/dev/sda2 partition 1048572 0 -2\n`), /swap on is not supported.*\n.*\n\/dev\/sda2/);
});

t.test('all differing settings are named', async (t) => {
  const read = (changes: Readonly<Record<string, string>>) => (name: string) => {
    const value = { ...expectedKernelSettings, ...changes }[name] ?? '';
    return value === '' ? Promise.reject(new Error('ENOENT')) : Promise.resolve(`${value}\n`);
  };
  t.same(await kernelSettingErrors(read({})), []);
  t.same(await kernelSettingErrors(read({ 'vm/overcommit_memory': '0', 'kernel/panic': '' })), [
    'invalid kernel flag: vm/overcommit_memory, expected value: 1, actual value: 0',
    'invalid kernel flag: kernel/panic, expected value: 10, actual value: ENOENT',
  ]);
});
