/**
 * In CI (`RALPH_SECOND_TRY=1`) a test that fails is tried once more: on a busy machine one of thousands of tests with real processes may meet
 * a moment that is not Ralph's. This names those that needed it, so that none of them is passed over.
 */
import type { Reporter, TestModule } from 'vitest/node';

export const retry = process.env.RALPH_SECOND_TRY === '1' ? 1 : 0;

export default class SecondTries implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    for (const module of modules)
      for (const test of module.children.allTests())
        if (test.diagnostic()?.flaky) {
          const why = test.result().errors?.[0]?.message.split('\n', 1)[0] ?? '';
          console.error(
            `PASSED ONLY AT THE SECOND TRY: ${module.relativeModuleId}: ${test.fullName}: ${why}`,
          );
        }
  }
}
