import t from 'tap';
import { kubernetesDialect } from '#apimachinery/dialect.js';
import { betaCases } from '#test/integration/apiserver/resources/beta.js';
import { testLargeSpecs, withoutGate } from '#test/integration/apiserver/resources/repetition.js';

testLargeSpecs(t, withoutGate(betaCases), kubernetesDialect);
