import t from 'tap';
import { OptionsError } from '#daemon/options/option.js';
import { controllerChoice, runsController } from '#testcluster/controller-choice.js';

t.test('a text chooses controllers and the scheduler', (t) => {
  const all = ['*', 'bootstrapsigner', 'tokencleaner'];
  const ofNodes = ['nodeipam', 'nodelifecycle'];
  const cases: readonly (readonly [text: string, nodes: number, controllers: readonly string[], scheduler: boolean])[] =
    [
      ['all', 0, all, true],
      ['*', 3, all, true],
      ['none', 0, [], false],
      ['', 0, [], false],
      ['none', 1, ofNodes, true],
      ['garbagecollector, namespace', 0, ['garbagecollector', 'namespace'], false],
      ['garbagecollector,scheduler', 0, ['garbagecollector'], true],
      ['nodelifecycle,job', 2, ['nodelifecycle', 'job', 'nodeipam'], true],
      ['all,-job', 0, ['-job', ...all], true],
      ['all,-scheduler', 3, all, false],
    ];
  for (const [text, nodes, controllers, scheduler] of cases) {
    t.same(controllerChoice(text, nodes), { controllers, scheduler }, `${text} with ${nodes} nodes`);
  }
  for (const text of ['nonsense', 'job,-all', 'all,--job']) {
    t.throws(() => controllerChoice(text, 0), OptionsError, `${text} is refused`);
  }
  t.end();
});

t.test('a choice includes controllers by name and by default', (t) => {
  t.ok(runsController(controllerChoice('all', 0), 'job'));
  t.ok(runsController(controllerChoice('all', 0), 'tokencleaner'), 'off by default, but part of all');
  t.notOk(runsController(controllerChoice('all,-job', 0), 'job'));
  t.ok(runsController(controllerChoice('job', 0), 'job'));
  t.notOk(runsController(controllerChoice('none', 0), 'job'));
  t.end();
});
