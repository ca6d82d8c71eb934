import t from 'tap';
import { expectedKernelSettings, kernelSettingErrors } from '#nodeagent/node/kernel-settings.js';

t.test('settings that are others are named, all of them', async (t) => {
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
