import unittest

from ledger import Account, Refused, interest, transfer


class LedgerTest(unittest.TestCase):
    def setUp(self):
        self.ann = Account("ann")
        self.ann.deposit(10_000, "mon")

    def test_transfer(self):
        bob = Account("bob")
        self.assertEqual(transfer(self.ann, bob, 2_500, "mon"), (7_500, 2_500))

    def test_not_enough_money(self):
        with self.assertRaises(Refused):
            self.ann.withdraw(20_000, "mon")

    def test_daily_limit(self):
        rich = Account("rich", limit=500)
        rich.deposit(10_000, "mon")
        rich.withdraw(400, "mon")
        with self.assertRaises(Refused):
            rich.withdraw(200, "mon")

    def test_negative_amounts(self):
        with self.assertRaises(Refused):
            self.ann.withdraw(-5, "mon")
        with self.assertRaises(Refused):
            self.ann.deposit(-5, "mon")

    def test_interest(self):
        self.assertEqual(interest(100_000, 2, 365), 2_000)


if __name__ == "__main__":
    unittest.main()
