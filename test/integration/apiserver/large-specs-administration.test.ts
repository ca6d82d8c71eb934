import t from 'tap';
import { kubernetesDialect } from '#apimachinery/dialect.js';
import { administrationCases } from '#test/integration/apiserver/resources/administration.js';
import { testLargeSpecs, withoutGate } from '#test/integration/apiserver/resources/repetition.js';

testLargeSpecs(t, withoutGate(administrationCases), kubernetesDialect);
