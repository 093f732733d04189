import unittest

from slots import first_common, free, merge, parse


class SlotsTest(unittest.TestCase):
    def test_merge(self):
        self.assertEqual(merge([(600, 660), (630, 700), (800, 830)]), [(600, 700), (800, 830)])

    def test_free(self):
        self.assertEqual(free([(600, 660)]), [(540, 600), (660, 1020)])

    def test_short_gaps_are_no_slots(self):
        self.assertEqual(free([(550, 1000)]), [])

    def test_whole_day(self):
        self.assertEqual(free([]), [(540, 1020)])

    def test_parse(self):
        self.assertEqual(parse("9:30"), 570)
        with self.assertRaises(ValueError):
            parse("25:00")

    def test_first_common(self):
        self.assertEqual(first_common([[(540, 600)], [(600, 720)]], 60), (720, 780))


if __name__ == "__main__":
    unittest.main()
