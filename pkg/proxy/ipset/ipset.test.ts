import t from 'tap';
import { Ipset, parseSets } from '#proxy/ipset/ipset.js';
import { ProgramError, type RunWithInput } from '#proxy/program/run-program.js';

t.test('parses saved sets', (t) => {
  const text = [
    'create t-p4 hash:ip family inet hashsize 1024 maxelem 1048576 bucketsize 12 initval 0x1',
    'add t-p4 10.0.0.1',
    'create other hash:ip family inet hashsize 1024 maxelem 65536',
    'add other 10.0.0.2',
    'create t-n6 hash:ip,port family inet6 hashsize 1024 maxelem 1048576',
    'add t-n6 fd00::2,tcp:80',
    '',
  ].join('\n');
  const sets = parseSets(text, (name) => name.startsWith('t-'));
  t.same([...sets.keys()], ['t-p4', 't-n6']);
  t.same([...(sets.get('t-p4') ?? [])], ['10.0.0.1']);
  t.same([...(sets.get('t-n6') ?? [])], ['fd00::2,tcp:80']);
  t.end();
});

t.test('a set in use is destroyed the next time', async (t) => {
  const ran: string[] = [];
  let problem = 'Set cannot be destroyed: it is in use by a kernel component';
  const run: RunWithInput = async (program, args, input = '') => {
    ran.push([program, ...args, input].join(' ').trim());
    if (args[0] === 'destroy' && problem !== '') throw new ProgramError(problem, 1);
    return '';
  };
  const ipset = new Ipset(run);
  await ipset.destroy(['a', 'b']);
  await ipset.change({
    created: [{ name: 'b', family: 'IPv4', type: 'hash:ip' }],
    added: [],
    removed: [],
    destroyed: [],
  });
  ran.length = 0;
  problem = '';
  await ipset.destroy([]);
  t.same(ran, ['ipset destroy a'], 'a set that is declared again is not destroyed');
  await ipset.destroy([]);
  problem = 'The set with the given name does not exist';
  await ipset.destroy(['c']);
  await ipset.destroy([]);
  t.same(ran, ['ipset destroy a', 'ipset destroy c']);
});

t.test('sets need the program and support by the kernel', async (t) => {
  const failing = (error: Error) => new Ipset(() => Promise.reject(error)).works();
  t.equal(await failing(Object.assign(new Error('no ipset'), { code: 'ENOENT' })), false);
  t.equal(await failing(new ProgramError('Kernel support is missing', 1)), false);
  await t.rejects(failing(new TypeError('another')));
});
